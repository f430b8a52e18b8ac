# An agent that takes its task over HTTP, with only the Perl of every Debian. Arguments: port, what to do.
use strict;
use warnings;
use IO::Socket::INET;

my ($port, $what) = @ARGV;
$| = 1;
my %address = (LocalAddr => "127.0.0.1", LocalPort => $port);
my $server = IO::Socket::INET->new(%address, Listen => 5, ReuseAddr => 1) or die $!;
while (my $line = $server->accept) {
    my $length = 0;
    while (my $header = <$line>) {
        $length = $1 if $header =~ /^content-length: (\d+)/i;
        last if $header eq "\r\n";
    }
    read($line, my $body, $length) if $length;
    print "$body\n";
    exit 3 if $what eq "exit";
    sleep 1000 if $what eq "hang";
    my $claim = '{"outcome": "done", "message": "over HTTP"}';
    print $line "HTTP/1.1 200 OK\r\nContent-Length: " . length($claim) . "\r\n\r\n$claim";
    close $line;
    if ($what eq "go on") {
        # Long enough for hapax to end it, if it did not watch it.
        select(undef, undef, undef, 0.3);
        open(my $file, ">", "$ENV{HAPAX_STATE_DIR}/afterwards") or die $!;
        print $file "done\n";
        exit 0;
    }
}
