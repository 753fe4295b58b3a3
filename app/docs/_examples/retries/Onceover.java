import java.io.IOException;
import java.net.URI;
import java.net.http.*;
import java.time.*;

class Onceover {
  static final HttpClient HTTP = HttpClient.newHttpClient();

  // The key was stored before the first call.
  static String placeOrder(String key, String order) throws InterruptedException {
    var request = HttpRequest.newBuilder()
        .uri(URI.create(System.getenv("ONCEOVER_URL") + "/api/orders"))
        .header("Authorization", "Bearer " + System.getenv("ONCEOVER_API_KEY"))
        .header("Idempotency-Key", key)
        .header("Prefer", "wait=20, busy=503")
        .header("Content-Type", "application/json")
        .POST(HttpRequest.BodyPublishers.ofString(order))
        .timeout(Duration.ofSeconds(30)) // of each try
        .build();
    var giveUpAt = Instant.now().plusSeconds(300);
    for (int tries = 0; ; tries++) {
      long pause = Math.min(1 << Math.min(tries, 5), 30);
      try {
        var answer = HTTP.send(request, HttpResponse.BodyHandlers.ofString());
        int status = answer.statusCode();
        if (status == 201) return answer.body();
        if (status < 500 && status != 429) throw new IllegalStateException(answer.body());
        pause = answer.headers().firstValueAsLong("Retry-After").orElse(pause);
      } catch (IOException noAnswer) {
        // Refused, cut or timed out: the same request finds out what happened.
      }
      if (Instant.now().plusSeconds(pause).isAfter(giveUpAt))
        throw new IllegalStateException("not known yet: keep the key");
      Thread.sleep(pause * 1000);
    }
  }
}
