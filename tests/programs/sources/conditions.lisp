; Compiled code, collections (write barriers by fault), a trap, threads.
(defun fibonacci (n) (if (< n 2) n (+ (fibonacci (- n 1)) (fibonacci (- n 2)))))
(print (fibonacci 20))
(let ((l (loop for i below 50000 collect (* i 2)))) (gc :full t) (print (reduce #'+ l)))
(handler-case (/ 1 0) (division-by-zero () (print :division)))
#+sb-thread
(let* ((lock (sb-thread:make-mutex)) (count 0)
       (threads (loop repeat 4 collect
                  (sb-thread:make-thread
                    (lambda () (dotimes (i 2000) (sb-thread:with-mutex (lock) (incf count)) (make-array 10)))))))
  (mapc #'sb-thread:join-thread threads)
  (print count))
(sb-ext:exit :code 6)
