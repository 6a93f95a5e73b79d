# Load for a redis-server at ./socket that somebody starts; ends it.
for i in $(seq 600); do redis-cli -s socket ping > /dev/null 2>&1 && break; sleep 0.1; done
redis-benchmark -s socket -n 300 -c 10 -q -t set,get,lpush,lrange_100 --csv | cut -d, -f1
redis-cli -s socket eval 'local s = 0 for i = 1, 20000 do s = s + i end return s' 0
redis-cli -s socket set key value
redis-cli -s socket save
redis-cli -s socket get key
redis-cli -s socket shutdown nosave
