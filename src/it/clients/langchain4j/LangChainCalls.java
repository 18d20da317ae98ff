import com.fasterxml.jackson.databind.ObjectMapper;
import dev.langchain4j.data.message.UserMessage;
import dev.langchain4j.exception.HttpException;
import dev.langchain4j.model.chat.request.ChatRequest;
import dev.langchain4j.model.chat.response.ChatResponse;
import dev.langchain4j.model.chat.response.StreamingChatResponseHandler;
import dev.langchain4j.model.openai.OpenAiChatModel;
import dev.langchain4j.model.openai.OpenAiEmbeddingModel;
import dev.langchain4j.model.openai.OpenAiModelCatalog;
import dev.langchain4j.model.openai.OpenAiStreamingChatModel;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** Calls of LangChain4j's client of OpenAI's API; one JSON line per call. */
public final class LangChainCalls {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String BASE = System.getenv("BASE");
  private static final String MODEL = System.getenv("MODEL");
  private static final String KEY = System.getenv().getOrDefault("KEY", "unused");
  private static final ChatRequest PROMPT =
      ChatRequest.builder().messages(UserMessage.from("Name a colour.")).build();

  private LangChainCalls() {}

  public static void main(String[] args) throws Exception {
    call(
        "models",
        () ->
            OpenAiModelCatalog.builder()
                .baseUrl(BASE + "/v1")
                .apiKey(KEY)
                .build()
                .listModels()
                .stream()
                .map(model -> Map.of("id", model.name(), "owned_by", model.owner()))
                .toList());
    call("chat", () -> chat(BASE, MODEL));
    call("stream", () -> stream(MODEL));
    call(
        "embeddings",
        () ->
            OpenAiEmbeddingModel.builder()
                .baseUrl(BASE + "/v1")
                .apiKey(KEY)
                .modelName(MODEL)
                .build()
                .embed("sea")
                .content()
                .vectorAsList());
    call("unknown model", () -> chat(BASE, "no-such-model"));
    call("unknown model stream", () -> stream("no-such-model"));
    call("once 503", () -> chat(System.getenv("ONCE"), MODEL));
    call("never 503", () -> chat(System.getenv("NEVER"), MODEL));
    System.exit(0);
  }

  private static Object chat(String base, String model) {
    return plain(
        OpenAiChatModel.builder()
            .baseUrl(base + "/v1")
            .apiKey(KEY)
            .modelName(model)
            .temperature(0.0)
            .seed(7)
            .maxTokens(12)
            .build()
            .chat(PROMPT));
  }

  private static Object stream(String model) throws Exception {
    List<Object> parts = new ArrayList<>();
    CompletableFuture<Object> end = new CompletableFuture<>();
    OpenAiStreamingChatModel.builder()
        .baseUrl(BASE + "/v1")
        .apiKey(KEY)
        .modelName(model)
        .temperature(0.0)
        .seed(7)
        .maxTokens(12)
        .build()
        .chat(
            PROMPT,
            new StreamingChatResponseHandler() {
              @Override
              public void onPartialResponse(String part) {
                parts.add(part);
              }

              @Override
              public void onCompleteResponse(ChatResponse response) {
                parts.add(plain(response));
                end.complete(parts);
              }

              @Override
              public void onError(Throwable failure) {
                end.completeExceptionally(failure);
              }
            });
    return end.get(60, TimeUnit.SECONDS);
  }

  private static Map<String, Object> plain(ChatResponse response) {
    Map<String, Object> plain = new LinkedHashMap<>();
    plain.put("text", response.aiMessage().text());
    plain.put("model", response.modelName());
    plain.put("finish_reason", String.valueOf(response.finishReason()));
    plain.put("input_tokens", response.tokenUsage().inputTokenCount());
    plain.put("output_tokens", response.tokenUsage().outputTokenCount());
    return plain;
  }

  private static void call(String name, Callable<Object> action) throws Exception {
    Map<String, Object> report = new LinkedHashMap<>(Map.of("call", name));
    try {
      report.put("result", action.call());
    } catch (Exception failure) {
      Map<String, Object> error = new LinkedHashMap<>();
      Throwable cause = failure;
      while (cause.getCause() != null && !(cause instanceof HttpException)) {
        cause = cause.getCause();
      }
      error.put("type", failure.getClass().getSimpleName());
      error.put("cause", cause.getClass().getSimpleName());
      error.put("status", cause instanceof HttpException http ? http.statusCode() : null);
      error.put("text", cause.getMessage());
      report.put("error", error);
    }
    System.out.println(JSON.writeValueAsString(report));
  }
}
