import com.fasterxml.jackson.databind.ObjectMapper;
import com.openai.errors.OpenAIServiceException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import org.springframework.ai.chat.model.ChatResponse;
import org.springframework.ai.chat.prompt.Prompt;
import org.springframework.ai.document.MetadataMode;
import org.springframework.ai.openai.OpenAiChatModel;
import org.springframework.ai.openai.OpenAiChatOptions;
import org.springframework.ai.openai.OpenAiEmbeddingModel;
import org.springframework.ai.openai.OpenAiEmbeddingOptions;

/** Calls of Spring AI's client of OpenAI's API; one JSON line per call. */
public final class SpringCalls {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String BASE = System.getenv("BASE");
  private static final String MODEL = System.getenv("MODEL");
  private static final String KEY = System.getenv().getOrDefault("KEY", "unused");
  private static final Prompt PROMPT = new Prompt("Name a colour. «été à Ærø» 🌊");

  private SpringCalls() {}

  public static void main(String[] args) throws Exception {
    call("chat", () -> plain(model(BASE, MODEL).call(PROMPT)));
    call("stream", () -> stream(MODEL));
    call(
        "embeddings",
        () ->
            new OpenAiEmbeddingModel(
                    MetadataMode.NONE,
                    OpenAiEmbeddingOptions.builder()
                        .baseUrl(BASE + "/v1")
                        .apiKey(KEY)
                        .model(MODEL)
                        .build())
                .embed("sea"));
    call("unknown model", () -> plain(model(BASE, "no-such-model").call(PROMPT)));
    call("unknown model stream", () -> stream("no-such-model"));
    call("once 503", () -> plain(model(System.getenv("ONCE"), MODEL).call(PROMPT)));
    call("never 503", () -> plain(model(System.getenv("NEVER"), MODEL).call(PROMPT)));
    System.exit(0);
  }

  private static OpenAiChatModel model(String base, String model) {
    OpenAiChatOptions options =
        OpenAiChatOptions.builder()
            .baseUrl(base + "/v1")
            .apiKey(KEY)
            .model(model)
            .temperature(0.0)
            .seed(7)
            .maxTokens(12)
            .build();
    return OpenAiChatModel.builder().options(options).build();
  }

  private static List<Map<String, Object>> stream(String model) {
    return model(BASE, model).stream(PROMPT).map(SpringCalls::plain).collectList().block();
  }

  private static Map<String, Object> plain(ChatResponse response) {
    Map<String, Object> plain = new LinkedHashMap<>();
    plain.put(
        "results",
        response.getResults().stream()
            .map(
                each ->
                    List.of(
                        String.valueOf(each.getOutput().getText()),
                        String.valueOf(each.getMetadata().getFinishReason())))
            .toList());
    plain.put("model", response.getMetadata().getModel());
    plain.put("input_tokens", response.getMetadata().getUsage().getPromptTokens());
    plain.put("output_tokens", response.getMetadata().getUsage().getCompletionTokens());
    return plain;
  }

  private static void call(String name, Callable<Object> action) throws Exception {
    Map<String, Object> report = new LinkedHashMap<>(Map.of("call", name));
    try {
      report.put("result", action.call());
    } catch (Exception failure) {
      Map<String, Object> error = new LinkedHashMap<>();
      Throwable cause = failure;
      while (cause.getCause() != null && !(cause instanceof OpenAIServiceException)) {
        cause = cause.getCause();
      }
      error.put("type", failure.getClass().getSimpleName());
      error.put("cause", cause.getClass().getSimpleName());
      error.put("status", cause instanceof OpenAIServiceException http ? http.statusCode() : null);
      error.put("text", cause.getMessage());
      report.put("error", error);
    }
    System.out.println(JSON.writeValueAsString(report));
  }
}
