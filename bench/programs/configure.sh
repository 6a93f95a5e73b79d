#!/bin/sh
# Many short-lived processes, as a configure script has them. Argument: rounds, of eleven processes each.
n=0
sum=0
while [ "$n" -lt "$1" ]; do
  n=$((n + 1))
  cat >conftest.h <<EOF
#define VERSION_$n "$n.0"
#define HAVE_FEATURE_$n 1
EOF
  version=$(sed -n 's/.*VERSION_.* "\(.*\)"/\1/p' conftest.h)
  if grep -q HAVE_FEATURE conftest.h; then answer=yes; else answer=no; fi
  name=$(expr "x$version-$answer" : 'x\(.*\)-yes')
  upper=$(echo "feature $name" | tr a-z A-Z)
  lines=$(cat conftest.h conftest.h | wc -l)
  folder=$(dirname "/usr/lib/$upper/x")
  (test -f conftest.h && mv conftest.h conftest.old && rm -f conftest.old) || exit 1
  echo "checking for $folder... $lines"
  sum=$((sum + lines))
done
echo "$sum"
