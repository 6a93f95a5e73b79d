# A PostgreSQL database from its making to its end, in the working directory, under load from four clients.
set -e
if [ "$(id -u)" = 0 ]; then  # which its servers refuse to run as
  chown nobody .
  exec setpriv --reuid=nobody --regid=nogroup --clear-groups bash "$0"
fi
export PATH=$(ls -d /usr/lib/postgresql/*/bin | tail -1):$PATH PGHOST=$PWD PGUSER=simrun PGDATABASE=postgres PGDATA=$PWD/data
initdb --no-sync --auth=trust --username=simrun --locale=C --encoding=UTF8
pg_ctl -w -t 150 -s -l log -o "-k $PWD -c listen_addresses= -c fsync=off" start
pgbench -i -q -s 1 2> /dev/null
pgbench -n -c 4 -j 2 -t 25 2> /dev/null | grep -E 'clients|threads|processed|failed'
psql -At <<'END'
select count(*), sum(abalance) = (select sum(tbalance) from pgbench_tellers) from pgbench_accounts;
select count(*) from pgbench_history;
set max_parallel_workers_per_gather = 2;
set parallel_setup_cost = 0;
set min_parallel_table_scan_size = 0;
select sum(aid % 7) from pgbench_accounts;
END
pg_ctl -s -m fast stop
