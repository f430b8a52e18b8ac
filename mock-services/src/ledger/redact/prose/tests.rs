use crate::clock::Clock;
use crate::ledger::Ledger;

fn redacted(text: &str) -> String {
    Ledger::new("t", 1, Clock::default()).redacted(text)
}

/// What is shown of a text in the place of its secret, which is written as `¤`.
#[track_caller]
fn hides(form: &str, secret: &str) {
    let text = form.replace('¤', secret);
    let shown = redacted(&text);
    assert!(!shown.contains(secret), "{text:?} is shown as {shown:?}");
    for piece in secret.as_bytes().windows(12) {
        let piece = String::from_utf8_lossy(piece);
        assert!(!shown.contains(&*piece), "{text:?} is shown as {shown:?}");
    }
}

#[test]
fn the_value_of_a_secret_name_is_hidden_in_every_notation() {
    for form in [
        "password=¤",
        "PASSWORD=¤ next",
        "Password: ¤",
        "password : ¤",
        "password := ¤",
        "DB_PASSWORD=¤",
        "export PGPASSWORD='¤'",
        "my.password.old = ¤",
        "{\"password\": \"¤\", \"a\": 1}",
        "{\\\"password\\\":\\\"¤\\\"}",
        "{'password': '¤'}",
        "{password: ¤}",
        "user[password]=¤&x=1",
        "https://x.example/?a=1&token=¤",
        "token=¤",
        "api_token: ¤",
        "apiToken=\"¤\"",
        "client_secret=¤;x=1",
        "secret=¤",
        "--api-key ¤ --verbose",
        "--password=¤",
        "-H \"Authorization: Bearer ¤\" https://x.example",
        "Authorization: Basic ¤",
        "authorization: ¤",
        "got Bearer ¤ back",
        "x-api-key: ¤",
        "Cookie: session=¤; a=b",
        "<password>¤</password>",
        "- name: DB_PASSWORD\n  value: ¤\n",
        "{\"name\":\"DB_PASSWORD\",\"value\":\"¤\"}",
        "password: |\n  ¤\nuser: x",
        "the password is ¤.",
        "machine h login u password ¤",
        "curl -u ann:¤ https://x.example",
        "postgres://ann:¤@h:5432/db",
        "redis://:¤@h:6379",
        "API key: ¤",
        "AccountKey=¤;EndpointSuffix=x",
        "token%3D¤",
        "a%26password%3D¤%26b",
    ] {
        hides(form, "hunter2Qx7vPz9LmTk4");
    }
}

#[test]
fn a_value_on_the_line_after_its_name_and_one_of_a_signature_are_hidden() {
    for form in [
        "password:\n¤\nuser: ann",
        "  db_password:\r\n    ¤",
        "API token:\n¤",
        "signature: ¤",
        "{\"signature\": \"¤\"}",
    ] {
        hides(form, "hunter2Qx7vPz9LmTk4");
    }
    hides("mnemonic: ¤", "legal winner thank year wave sausage");
}

#[test]
fn a_password_can_have_blanks_and_quotes_in_it() {
    for form in ["password: ¤", "DB_PASSWORD=¤", "password=\"¤\"", "  passphrase: '¤'"] {
        hides(form, "correct horse battery staple");
    }
    hides("PASSWORD='it'\\''s-hunter2-and-more' x", "s-hunter2-and-more");
    hides("password=\"a\\\"b-hunter2-and-more\"", "b-hunter2-and-more");
}

#[test]
fn keys_are_found_by_how_they_look() {
    for key in [
        "sk-abcdefGHIJKL0123456789mnopqrSTUVWX0123456789abcd",
        "sk-svcacct-a1b2c3d4e5f6g7h8i9j0",
        "sk_live_51ABCDEFGHIJKLMNOPQR",
        "AKIAIOSFODNNQEXAMPLE",
        "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        "ghp_0123456789abcdefABCDEF0123456789abcd",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJlLWhlcmU",
    ] {
        for form in ["¤", "a ¤ b", "'¤'", "(¤)", "x\n¤\ny", "key:¤", "k=¤"] {
            hides(form, key);
        }
    }
    for key in
        ["sk_live_51ABCDEFGHIJKLMNOPQR", "sk-abcdefGHIJKL0123456789mnopqrSTUVWX0123", "AKIAIOSFODNN7EXAMPLE"]
    {
        hides("x¤", key);
    }
}

#[test]
fn the_body_of_a_key_is_hidden_also_without_its_beginning_or_its_end() {
    let body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n\
                MzEfYyjiWA4R4/M2bS1GB4t7NXp98C3SC6dVMvDuictGeurT8jNbvJZHtCSuYEvu";
    for label in ["PRIVATE KEY", "RSA PRIVATE KEY", "CERTIFICATE", "OPENSSH PRIVATE KEY"] {
        hides(&format!("a\n-----BEGIN {label}-----\n¤\n-----END {label}-----\nb"), body);
        hides(&format!("a\n-----BEGIN {label}-----\n¤"), body);
        hides(&format!("¤\n-----END {label}-----\nb"), body);
        let escaped = body.replace('\n', "\\n");
        hides(&format!("{{\"key\": \"-----BEGIN {label}-----\\n¤\\n-----END {label}-----\\n\"}}"), &escaped);
    }
    assert!(
        redacted("a\n-----BEGIN CERTIFICATE-----\nMIIEvQ\n-----END CERTIFICATE-----\nb")
            .ends_with("-----END CERTIFICATE-----\nb")
    );
}

#[test]
fn ordinary_text_stays() {
    for text in [
        "token_count=5 total_tokens: 812 max_tokens=1024",
        "password reset mail sent",
        "The password reset link was sent to ann@example.com.",
        "Subject: Reset your password",
        "forgot your password? ask the secretary",
        "error: unexpected token: unexpected end of input",
        "let secret be; no token, no cookie",
        "DB_PASSWORD=${DB_PASSWORD} token: $(cat token) API_TOKEN=\"${API_TOKEN}\"",
        "password: ********",
        "password: null",
        "PWD=/home/ann OLDPWD=/tmp",
        "HAPAX_SHARED_DIR=/tmp/hapax-3CIwFo/0123456789abcdef/0123456789abcdef",
        "open /Users/Ann42/projects/agents/lib/checkouts0/ failed",
        "pass: 3 fail: 0",
        "pass=12 fail=3",
        "PASS payment/lost-reply@keys=none,reply=drop1",
        "auth: ok",
        "std::token::new(1)",
        "task-4f3a9c2b1d7e8f60aa and risk-0123456789abcdef0123",
        "commit 0123456789abcdef0123456789abcdef01234567",
        "http://localhost:8080/users/ann@example.com",
        "http://127.0.0.1:4001 and https://api.stripe.com/v1/charges",
        "Basic authentication is off, bearer of bad news",
        "{\"outcome\": \"done\", \"message\": \"charged ord_1001, $49.99, ch_3MtwBwLkdIwHu7ix28a3tqPa\"}",
        "idempotency_key=ord_1001-charge",
        "authorized 4999 usd for cus_42",
        "secretary=Ann broken=1 compass=N",
    ] {
        assert_eq!(redacted(text), text);
    }
}

/// The line of a traceback that says which variable is missing.
#[test]
fn a_line_that_reads_the_environment_stays() {
    for text in [
        "    stripe.api_key = os.environ[\"STRIPE_API_KEY\"]\n                     ~~~~~~^^^\nKeyError: 'STRIPE_API_KEY'\n",
        "    connect(password=os.environ.get('DB_PASSWORD'))\n",
        "client = Client(api_key=os.getenv(\"API_KEY\"), timeout=3)",
        "const client = new Stripe({ apiKey: process.env.STRIPE_API_KEY });",
        "  token = ENV.fetch(\"TOKEN\")",
    ] {
        assert_eq!(redacted(text), text);
    }
    for text in [
        "api_key = os.environ.get(\"API_KEY\", \"Zx8vTq0LmWk2RbN4\")",
        "api_key = os.environ[\"API_KEY\"] or \"Zx8vTq0LmWk2RbN4\"",
        "password = getenv(Zx8vTq0LmWk2RbN4)",
        "api_key=process.env.API_KEY||\"Zx8vTq0LmWk2RbN4\"",
        "connect(token=os.getenv(\"TOKEN\"), password=\"Zx8vTq0LmWk2RbN4\")",
    ] {
        assert!(!redacted(text).contains("Zx8vTq0LmWk2RbN4"), "{}", redacted(text));
    }
}

#[test]
fn what_is_cut_is_looked_at_as_a_whole() {
    let ledger = Ledger::new("t", 1, Clock::default());
    ledger.hide_value("a-passed-value-of-43-characters-0123456789ab");
    let text = "x a-passed-value-of-43-characters-0123456789ab y";
    for cut in 3..45 {
        assert_eq!(ledger.redacted_part(text, 0..cut), "x [redacted 1]");
        assert_eq!(ledger.redacted_part(text, cut..text.len()), "[redacted 1] y");
    }
    assert_eq!(ledger.redacted_part("aé\"\\b", 1..4), "é\"");
}

proptest::proptest! {
    #[test]
    fn any_text_can_be_looked_at(text in "(password|token|=|:|\"|'|\\\\|\\n| |@|://|-----BEGIN \
        X-----|-----END |é|a1B2|\\{|\\[|\\||<|>){0,30}", cut in 0usize..60) {
        let ledger = Ledger::new("t", 1, Clock::default());
        let _ = ledger.redacted(&text);
        let _ = ledger.redacted_part(&text, cut..text.len().max(cut));
        let _ = ledger.redacted_part(&text, 0..cut);
    }
}

/// Each of these once took a time that grew with the square of the length, or more stack than there is.
#[test]
fn a_long_text_that_is_all_beginnings_is_searched_quickly() {
    const LENGTH: usize = 60_000;
    for part in [
        "eyJ",
        "sk-",
        "AKIA",
        "://",
        "a://b:",
        "-----BEGIN ",
        "-----BEGIN X-----",
        "-----END ",
        "password]",
        "password=",
        "password:<",
        "password:${",
        "password\":{",
        "token: ",
        "bearer ",
        "\\",
        "\"password\":[",
        "'",
        "password='${",
        "\\u005c",
        "login password ",
    ] {
        let text = format!("{}\n\ntoken=Zx8vTq0LmWk2RbN4", part.repeat(LENGTH / part.len()));
        assert!(!redacted(&text).contains("Zx8vTq0LmWk2RbN4"), "{part}");
    }
}
