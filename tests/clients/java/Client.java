// Java's HttpClient: makes a payment with a confirmed intent at the real host.

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.Base64;

class Client {
    public static void main(String[] arguments) throws Exception {
        String user = Base64.getEncoder().encodeToString("key_of_its_own:".getBytes(StandardCharsets.UTF_8));
        String form = "amount=4999&currency=usd&customer=cus_42&payment_method=pm_card_visa"
                + "&payment_method_types[]=card&confirm=true&metadata[order]=o1";
        HttpRequest request = HttpRequest.newBuilder(URI.create("https://api.stripe.com/v1/payment_intents"))
                .header("Authorization", "Basic " + user)
                .header("Content-Type", "application/x-www-form-urlencoded")
                .POST(HttpRequest.BodyPublishers.ofString(form))
                .build();
        System.out.println(HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString()));
    }
}
