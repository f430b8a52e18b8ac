// Java's HttpClient: makes a payment with a confirmed intent, and looks it up by its id and by search.

import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

class Client {
    static final boolean REAL_HOSTS = System.getenv("REAL_HOSTS") != null;
    static final String INTENTS =
            (REAL_HOSTS ? "https://api.stripe.com" : System.getenv("HAPAX_PAYMENT_URL")) + "/v1/payment_intents";
    static final String KEY = REAL_HOSTS ? "sk_test_own" : System.getenv("HAPAX_PAYMENT_KEY");
    static final HttpClient CLIENT = HttpClient.newHttpClient();

    static HttpResponse<String> ask(HttpRequest.Builder request) throws Exception {
        String user = Base64.getEncoder().encodeToString((KEY + ":").getBytes(StandardCharsets.UTF_8));
        request.header("Authorization", "Basic " + user);
        return CLIENT.send(request.build(), HttpResponse.BodyHandlers.ofString());
    }

    static HttpRequest.Builder to(String url) {
        return HttpRequest.newBuilder(URI.create(url));
    }

    static String write() throws Exception {
        String form = "amount=4999&currency=usd&customer=cus_42&payment_method=pm_card_visa"
                + "&payment_method_types[]=card&confirm=true&metadata[order]=o1";
        HttpResponse<String> answer = ask(to(INTENTS)
                .header("Content-Type", "application/x-www-form-urlencoded")
                .POST(HttpRequest.BodyPublishers.ofString(form)));
        if (answer.statusCode() != 200) throw new Exception("" + answer.statusCode());
        Matcher id = Pattern.compile("\"(pi_[A-Za-z0-9]*)\"").matcher(answer.body());
        id.find();
        return id.group(1);
    }

    static long count() throws Exception {
        String query = URLEncoder.encode("metadata['order']:'o1'", StandardCharsets.UTF_8);
        String found = ask(to(INTENTS + "/search?query=" + query)).body();
        return Pattern.compile("\"object\": *\"payment_intent\"").matcher(found).results().count();
    }

    public static void main(String[] arguments) throws Exception {
        String write;
        try {
            String id = write();
            boolean found = ask(to(INTENTS + "/" + id)).statusCode() == 200;
            write = "\"write\": \"ok\", \"error\": null, \"id\": \"" + id + "\", \"get\": " + found;
        } catch (Exception error) {
            boolean isStatus = error.getClass() == Exception.class;
            String kind = isStatus ? error.getMessage() : error.getClass().getSimpleName();
            write = "\"write\": \"error\", \"error\": \"" + kind + "\", \"id\": null, \"get\": null";
        }
        System.out.println("{" + write + ", \"read\": " + count() + "}");
        // The client has threads that keep the process running.
        System.exit(0);
    }
}
