# Interpreter work: a hash, regular expressions, calls; argument: rounds.
use strict;
use warnings;

my ($rounds) = @ARGV;
my (%count, $matches);

sub mix { my ($x) = @_; return ($x * 7919 + 17) % 5003; }

for my $i (1 .. $rounds) {
    my $key = "k" . mix($i);
    $count{$key} += $i & 7;
    $matches++ if $key =~ /^k(\d)\d*\1$/;
}
my $sum = 0;
$sum += $count{$_} for keys %count;
print "$sum $matches\n";
