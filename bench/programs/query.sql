-- In memory: fill, index, aggregate, join. Parameter @rows.
CREATE TABLE sale(id INTEGER PRIMARY KEY, item INTEGER, price INTEGER, note TEXT);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < @rows)
INSERT INTO sale SELECT i, i * 7919 % 1009, i * 31 % 997, 'note ' || (i % 101) FROM n;
CREATE INDEX sale_item ON sale(item, price);
SELECT item, count(*), sum(price) FROM sale GROUP BY item ORDER BY 3 DESC LIMIT 3;
SELECT count(*) FROM sale a JOIN sale b ON a.id = b.id + 1 WHERE a.price < b.price AND a.note LIKE '%7';
