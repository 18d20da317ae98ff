package dev.berth.web;

import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.DecoderException;
import io.netty.handler.codec.http.DefaultHttpContent;
import io.netty.handler.codec.http.DefaultHttpRequest;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.handler.codec.http.multipart.Attribute;
import io.netty.handler.codec.http.multipart.DefaultHttpDataFactory;
import io.netty.handler.codec.http.multipart.FileUpload;
import io.netty.handler.codec.http.multipart.HttpPostRequestDecoder;
import io.netty.handler.codec.http.multipart.MemoryFileUpload;
import io.vertx.core.Handler;
import io.vertx.core.MultiMap;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpServerFileUpload;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.http.impl.HttpUtils;
import io.vertx.core.internal.buffer.BufferInternal;
import java.io.IOException;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Decoder of the form in a request's body, within the default limits of Vert.x: 256 fields of 8 KiB
 * each. Files are not stored: their bytes go to the upload handler.
 */
final class RequestForm extends DefaultHttpDataFactory {
  private final RouterRequest request;
  private final Supplier<@Nullable Handler<HttpServerFileUpload>> uploads;
  private final HttpPostRequestDecoder decoder;
  private @Nullable RequestUpload current;
  private boolean decoding; // an upload's handler may end the request
  private boolean over;

  private RequestForm(
      RouterRequest request,
      Supplier<@Nullable Handler<HttpServerFileUpload>> uploads,
      HttpRequest head) {
    super(false);
    this.request = request;
    this.uploads = uploads;
    setMaxLimit(HttpServerOptions.DEFAULT_MAX_FORM_ATTRIBUTE_SIZE);
    this.decoder =
        new HttpPostRequestDecoder(
            this,
            head,
            StandardCharsets.UTF_8,
            HttpServerOptions.DEFAULT_MAX_FORM_FIELDS,
            HttpServerOptions.DEFAULT_MAX_FORM_BUFFERED_SIZE);
  }

  /**
   * @throws IllegalStateException when the request cannot have a form
   */
  static RequestForm of(
      RouterRequest request, Supplier<@Nullable Handler<HttpServerFileUpload>> uploads) {
    String type = request.getHeader(HttpHeaderNames.CONTENT_TYPE);
    HttpMethod method = request.method().toNetty();
    if (type == null
        || !HttpUtils.isValidMultipartContentType(type)
        || !HttpUtils.isValidMultipartMethod(method)) {
      throw new IllegalStateException(
          "Request must have a valid content-type header and be one of POST, PUT, PATCH or DELETE"
              + " to decode a multipart request");
    }
    HttpRequest head = new DefaultHttpRequest(HttpVersion.HTTP_1_1, method, request.uri());
    head.headers().set(HttpHeaderNames.CONTENT_TYPE, type);
    return new RequestForm(request, uploads, head);
  }

  @Override
  public FileUpload createFileUpload(
      HttpRequest head,
      String name,
      String filename,
      String contentType,
      String contentTransferEncoding,
      Charset charset,
      long size) {
    RequestUpload upload =
        new RequestUpload(
            request, name, filename, contentType, contentTransferEncoding, charset, size);
    current = upload;
    if (!over) {
      request.emit(uploads.get(), upload);
    }
    return new MemoryFileUpload(
        name, filename, contentType, contentTransferEncoding, charset, size) {
      @Override
      public void addContent(ByteBuf piece, boolean last) throws IOException {
        try {
          upload.receive(Buffer.buffer(io.netty.buffer.ByteBufUtil.getBytes(piece)), last);
        } finally {
          piece.release();
        }
        if (last) {
          current = null;
          setCompleted();
        }
      }
    };
  }

  /**
   * Decodes a chunk.
   *
   * @return false when the form is malformed or exceeds a limit, which fails the request
   */
  boolean offer(Buffer piece) {
    return decode(
        () -> decoder.offer(new DefaultHttpContent(((BufferInternal) piece).getByteBuf())));
  }

  /** Decodes the end of the body, and adds the attributes. */
  boolean end(MultiMap attributes) {
    boolean well =
        decode(
            () -> {
              decoder.offer(LastHttpContent.EMPTY_LAST_CONTENT);
              try {
                while (decoder.hasNext()) {
                  if (decoder.next() instanceof Attribute attribute) {
                    attributes.add(attribute.getName(), attribute.getValue());
                    attribute.release();
                  }
                }
              } catch (HttpPostRequestDecoder.EndOfDataDecoderException expected) {
                // the decoder ends so
              }
            });
    if (well) {
      destroy();
    }
    return well;
  }

  private boolean decode(FormStep step) {
    if (over) {
      return false;
    }
    decoding = true;
    try {
      step.run();
      return true;
    } catch (DecoderException | IOException malformed) {
      request.fail(malformed); // which ends this form
      return false;
    } finally {
      decoding = false;
      if (over) {
        decoder.destroy();
      }
    }
  }

  /** Ends the form, and fails an upload whose end has not arrived. */
  void fail(Throwable why) {
    RequestUpload unfinished = current;
    current = null;
    if (unfinished != null) {
      unfinished.fail(why);
    }
    destroy();
  }

  private void destroy() {
    if (!over) {
      over = true;
      if (!decoding) {
        decoder.destroy();
      }
    }
  }

  /** A step of the decoder. */
  @FunctionalInterface
  private interface FormStep {
    void run() throws IOException;
  }
}
