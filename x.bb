# simrun basic-block vectors, version 1
# interval 0 start 0 length 16 count 1 pc 0x401000 offset 0x1000 module /tmp/p8/phb/fab
T:1:9 :2:5 :3:2
# block 1 thread 0 pc 0x401021 offset 0x1021 module /tmp/p8/phb/fab
# block 2 thread 0 pc 0x401034 offset 0x1034 module /tmp/p8/phb/fab
# block 3 thread 0 pc 0x40103c offset 0x103c module /tmp/p8/phb/fab
# kind fixed
# interval-length 1000
# left-out 0
# threads 1
# command /tmp/p8/phb/fab
# instructions 16
