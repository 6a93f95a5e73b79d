// Worker threads over shared memory, de-optimised code, regular expressions, WebAssembly, a stack that overflows.
const { Worker, isMainThread, parentPort, workerData } = require('worker_threads');
if (isMainThread) {
  const shared = new SharedArrayBuffer(64), counter = new Int32Array(shared);
  let left = 3, sum = 0;
  for (let i = 0; i < 3; i++) {
    const worker = new Worker(__filename, { workerData: { i, shared } });
    worker.on('message', m => { sum += m; });
    worker.on('exit', () => { if (--left === 0) console.log('workers', sum, counter[0]); });
  }
  function Thing(x) { this.x = x; }
  Thing.prototype.value = function () { return this.x * 2; };
  let s = 0;
  for (let i = 0; i < 100000; i++) {
    s += new Thing(i).value();
    if (i === 50000) Thing.prototype.value = function () { return this.x * 3; };
  }
  console.log(s, /(\d+)-\1/.test('123-123'), new Function('a', 'return a + 1')(2));
  const add = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0, 1, 7, 1, 96, 2, 127, 127, 1, 127, 3, 2, 1, 0, 7, 7, 1, 3, 97,
                              100, 100, 0, 0, 10, 9, 1, 7, 0, 32, 0, 32, 1, 106, 11]);
  console.log(new WebAssembly.Instance(new WebAssembly.Module(add)).exports.add(2, 3));
  const deep = n => deep(n + 1) + 1;
  try { deep(0); } catch (e) { console.log(e instanceof RangeError); }
} else {
  let x = 0;
  for (let k = 0; k < 200000; k++) x = (x * 31 + k + workerData.i) % 1000003;
  for (let k = 0; k < 1000; k++) Atomics.add(new Int32Array(workerData.shared), 0, 1);
  parentPort.postMessage(x);
}
