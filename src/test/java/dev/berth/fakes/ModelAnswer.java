package dev.berth.fakes;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

/**
 * The answer of a deterministic language model, in the form of OpenAI's and Anthropic's APIs. Its
 * text is {@code t0é t1é …}; its usage is 7 tokens in, and a token per word out. The answer names
 * the model of the request.
 *
 * @param streams whether the request asks for a stream
 * @param events the stream's server-sent events, each with its blank line
 * @param whole the answer without a stream
 */
public record ModelAnswer(boolean streams, List<String> events, String whole) {
  public static final int INPUT_TOKENS = 7;

  /** Returns the answer to a request's path and body; {@code tokens} is its length in words. */
  public static ModelAnswer of(String target, String body, int tokens) {
    JsonObject request = body.isEmpty() ? new JsonObject() : new JsonObject(body);
    String path = target.replaceAll("\\?.*", "");
    Words words = new Words(request.getString("model", ""), tokens);
    List<String> events = new ArrayList<>();
    JsonObject whole;
    if (path.endsWith("/messages")) {
      words.messages(events);
      whole = words.message("end_turn", tokens).put("content", words.content("text"));
    } else if (path.endsWith("/responses")) {
      words.responses(events);
      whole = words.response("completed").put("output", words.output());
    } else {
      boolean chat = path.endsWith("/chat/completions");
      JsonObject options = request.getJsonObject("stream_options", new JsonObject());
      words.completions(events, chat, options.getBoolean("include_usage", false));
      whole = words.completion(chat);
    }
    return new ModelAnswer(request.getBoolean("stream", false), events, whole.encode());
  }

  /** Returns the body of an error of a model's server. */
  public static String error(int status) {
    return json("error", json("message", "failed", "type", "server_error").put("code", status))
        .encode();
  }

  private static JsonObject json(String key, Object value) {
    return new JsonObject().put(key, value);
  }

  private static JsonObject json(String key, Object value, String other, Object second) {
    return json(key, value).put(other, second);
  }

  /** The words of an answer, and the events that carry them. */
  private record Words(String model, int tokens) {
    String word(int index) {
      return "t" + index + "é ";
    }

    String text() {
      return String.join("", IntStream.range(0, tokens).mapToObj(this::word).toList());
    }

    JsonArray content(String type) {
      return new JsonArray().add(json("type", type, "text", text()));
    }

    // --- chat and completions ---

    JsonObject usage() {
      return json("prompt_tokens", INPUT_TOKENS, "completion_tokens", tokens)
          .put("total_tokens", INPUT_TOKENS + tokens);
    }

    JsonObject completion(boolean chat) {
      JsonObject choice = json("index", 0, "finish_reason", "stop");
      JsonObject message = json("role", "assistant", "content", text());
      choice = chat ? choice.put("message", message) : choice.put("text", text());
      return json("id", "c-1", "object", chat ? "chat.completion" : "text_completion")
          .put("model", model)
          .put("choices", new JsonArray().add(choice))
          .put("usage", usage());
    }

    void completions(List<String> events, boolean chat, boolean withUsage) {
      for (int index = 0; index <= tokens; index++) {
        boolean end = index == tokens;
        JsonObject choice = json("index", 0, "finish_reason", end ? "stop" : null);
        String word = end ? "" : word(index);
        choice = chat ? choice.put("delta", json("content", word)) : choice.put("text", word);
        events.add(data(chunk(chat, new JsonArray().add(choice))));
      }
      if (withUsage) {
        events.add(data(chunk(chat, new JsonArray()).put("usage", usage())));
      }
      events.add("data: [DONE]\n\n");
    }

    private JsonObject chunk(boolean chat, JsonArray choices) {
      return json("id", "c-1", "object", chat ? "chat.completion.chunk" : "text_completion")
          .put("model", model)
          .put("choices", choices);
    }

    private static String data(JsonObject event) {
      return "data: " + event.encode() + "\n\n";
    }

    // --- messages ---

    JsonObject message(String stopReason, int output) {
      return json("id", "m-1", "type", "message")
          .put("role", "assistant")
          .put("model", model)
          .put("stop_reason", stopReason)
          .put("usage", json("input_tokens", INPUT_TOKENS, "output_tokens", output));
    }

    void messages(List<String> events) {
      JsonObject start = message("", 1).put("content", new JsonArray()).putNull("stop_reason");
      JsonObject block = json("type", "text", "text", "");
      events.add(named("message_start", json("message", start)));
      events.add(named("content_block_start", json("index", 0, "content_block", block)));
      for (int index = 0; index < tokens; index++) {
        JsonObject delta = json("type", "text_delta", "text", word(index));
        events.add(named("content_block_delta", json("index", 0, "delta", delta)));
      }
      events.add(named("content_block_stop", json("index", 0)));
      JsonObject end = json("delta", json("stop_reason", "end_turn"));
      events.add(named("message_delta", end.put("usage", json("output_tokens", tokens))));
      events.add(named("message_stop", new JsonObject()));
    }

    private static String named(String type, JsonObject event) {
      return "event: " + type + "\n" + data(json("type", type).mergeIn(event));
    }

    // --- responses ---

    JsonArray output() {
      JsonObject item = json("type", "message", "id", "i-1").put("content", content("output_text"));
      return new JsonArray().add(item);
    }

    JsonObject response(String status) {
      JsonObject response = json("id", "r-1", "object", "response").put("status", status);
      response.put("model", model);
      return status.equals("completed") ? response.put("usage", responseUsage()) : response;
    }

    private JsonObject responseUsage() {
      return json("input_tokens", INPUT_TOKENS, "output_tokens", tokens)
          .put("total_tokens", INPUT_TOKENS + tokens);
    }

    void responses(List<String> events) {
      events.add(named("response.created", json("response", response("in_progress"))));
      for (int index = 0; index < tokens; index++) {
        JsonObject delta = json("item_id", "i-1", "delta", word(index));
        events.add(named("response.output_text.delta", delta));
      }
      JsonObject end = response("completed").put("output", output());
      events.add(named("response.completed", json("response", end)));
    }
  }
}
