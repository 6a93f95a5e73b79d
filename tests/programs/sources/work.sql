create table t (id integer primary key, name text, value real);
begin;
with recursive n(i) as (select 1 union all select i + 1 from n where i < 5000)
insert into t select i, 'name ' || (i * 7919 % 5003), i / 7.0 from n;
commit;
create index by_name on t (name);
select count(*), sum(value), min(name), max(name) from t;
select substr(name, 1, 7) as prefix, count(*) from t group by prefix order by 2 desc, 1 limit 5;
select a.id, b.id from t a join t b on a.id = b.id * 2 where a.name like '%99%' order by a.id limit 5;
update t set value = value * 2 where id % 3 = 0;
delete from t where id % 5 = 0;
select count(*), round(total(value), 3) from t;
pragma integrity_check;
.mode json
select id, name from t order by name limit 3;
