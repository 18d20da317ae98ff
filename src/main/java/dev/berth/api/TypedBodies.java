package dev.berth.api;

import io.vertx.core.Future;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Objects;

/** Adapter from request and response bodies to a function of typed values. */
final class TypedBodies<I> {
  private final Class<I> type;
  private final Json json;

  TypedBodies(Class<I> type, Class<?> function) {
    this.type = type;
    this.json = Json.of(type, function);
    json.prepare(type);
  }

  <O> AsyncHandler async(AsyncFunction<I, O> function) {
    return (request, context) -> {
      I body;
      try {
        body = read(request);
      } catch (Json.Malformed malformed) {
        return Future.succeededFuture(malformed.refusal(json));
      }
      boolean typed = WholeBody.typed(request.body()) != null;
      return Objects.requireNonNull(
              function.handle(body, context), "handler: null (expected: a future)")
          .map(value -> answer(value, typed));
    };
  }

  <O> BlockingHandler blocking(BlockingFunction<I, O> function) {
    return (request, context) -> {
      I body;
      try {
        body = read(request);
      } catch (Json.Malformed malformed) {
        return malformed.refusal(json);
      }
      O value = function.handle(body, context);
      return answer(value, WholeBody.typed(request.body()) != null);
    };
  }

  <O> BatchHandler batch(BatchFunction<I, O> function) {
    return items -> {
      BatchResult[] results = new BatchResult[items.size()];
      List<I> bodies = new ArrayList<>(items.size());
      for (int i = 0; i < results.length; i++) {
        try {
          bodies.add(read(items.get(i).request()));
        } catch (Json.Malformed malformed) {
          results[i] = BatchResult.of(malformed.refusal(json));
        } catch (RuntimeException unread) { // fails no other request
          results[i] = BatchResult.ofFailure(unread);
        }
      }
      List<O> values =
          bodies.isEmpty()
              ? List.of()
              : BatchResult.requireSize(function.handle(bodies), bodies.size());
      Iterator<O> next = values.iterator();
      for (int i = 0; i < results.length; i++) {
        if (results[i] == null) {
          O value = next.next();
          try {
            boolean typed = WholeBody.typed(items.get(i).request().body()) != null;
            results[i] = BatchResult.of(answer(value, typed));
          } catch (RuntimeException noJson) {
            results[i] = BatchResult.ofFailure(noJson);
          }
        }
      }
      return Arrays.asList(results);
    };
  }

  private I read(Request request) throws Json.Malformed {
    TypedValue typed = WholeBody.typed(request.body());
    return typed == null ? json.read(request.bytes(), type) : typed.as(type, json);
  }

  private <O> Response answer(O value, boolean typed) {
    Objects.requireNonNull(value, "handler: null (expected: a value)");
    if (value instanceof Response response) {
      return response;
    }
    return Response.of(
        200,
        TypedHandle.JSON,
        typed
            ? new Response.Body.Whole(new TypedValue(json, value))
            : new Response.Body.Whole(json.write(value)));
  }
}
