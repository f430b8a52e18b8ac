# A subject that makes one charge and writes a note as soon as it has the whole reply. Its argument chooses the
# variant.
use strict;
use warnings;
use threads;
use Socket qw(PF_INET SOCK_STREAM pack_sockaddr_in inet_aton);

my $how = shift @ARGV // "plain";
my $state = $ENV{HAPAX_STATE_DIR};

sub append {
    my ($name, $text) = @_;
    open(my $file, ">>", "$state/$name") or die;
    syswrite($file, "$text\n");
    close($file);
}

my $is_first = !-e "$state/starts";
append("starts", "x");
# The second start claims `done` and does nothing else.
if (!$is_first) {
    print "{\"outcome\": \"done\"}\n";
    exit 0;
}
if ($how eq "threads") {
    threads->create(sub { 1 while 1 })->detach() for 1 .. 3;
}
my ($port) = $ENV{HAPAX_PAYMENT_URL} =~ /:(\d+)$/;
socket(my $line, PF_INET, SOCK_STREAM, 0) or die;
connect($line, pack_sockaddr_in($port, inet_aton("127.0.0.1"))) or die;
my $body = "amount=4999&currency=usd&customer=cus_42&confirm=true&metadata[order]=ord_1001";
syswrite($line, "POST /v1/payment_intents HTTP/1.1\r\nHost: x\r\n"
    . "Authorization: Bearer $ENV{HAPAX_PAYMENT_KEY}\r\nContent-Type: application/x-www-form-urlencoded\r\n"
    . "Content-Length: " . length($body) . "\r\n\r\n$body");
exit 0 if $how eq "leaves";
# A client with a timeout.
if ($how eq "impatient") {
    vec(my $ready = "", fileno($line), 1) = 1;
    select($ready, undef, undef, 0.3) or close($line);
    print "{\"outcome\": \"done\"}\n";
    exit 0;
}

sub wait_for_reply {
    my $seen = "";
    while (1) {
        sysread($line, my $more, 65536) or last;
        $seen .= $more;
        next unless $seen =~ /\r\n\r\n/;
        if ($how eq "hangs-up") {
            close($line);
            sleep(1000) if !-e "$state/never";
        }
        my ($length) = $seen =~ /Content-Length: (\d+)/i;
        my ($head) = $seen =~ /^(.*?\r\n\r\n)/s;
        last if length($seen) >= length($head) + $length;
    }
    append("note", "the reply was read");
}
if ($how eq "threads") {
    threads->create(\&wait_for_reply)->join();
} else {
    wait_for_reply();
}
print "{\"outcome\": \"done\"}\n";
exit 0;
