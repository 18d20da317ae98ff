package dev.berth.cluster.link;

import static java.util.concurrent.TimeUnit.MILLISECONDS;
import static java.util.concurrent.TimeUnit.SECONDS;

import dev.berth.config.ClusterConfig;
import dev.berth.ingress.Certificates;
import dev.berth.ingress.IngressTransport;
import dev.berth.net.tls.TlsFiles;
import io.netty.pkitesting.CertificateBuilder;
import io.netty.pkitesting.X509Bundle;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.internal.ContextInternal;
import io.vertx.core.internal.VertxInternal;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;

/** Event loops, and certificates of one authority for nodes on them. */
public final class LinkWorld {
  public final Vertx vertx =
      IngressTransport.preferred()
          .builder()
          .with(new VertxOptions().setEventLoopPoolSize(8).setPreferNativeTransport(true))
          .build();
  private final ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor();
  private final Path folder;
  private final X509Bundle authority;

  public LinkWorld(Path folder) throws Exception {
    this.folder = folder;
    authority = Certificates.authority();
  }

  /** The next loop in turn. */
  public ContextInternal loop() {
    return ((VertxInternal) vertx).createEventLoopContext();
  }

  /** With a certificate of these names, the first of which is the common name. */
  public LinkTls tls(String... names) throws Exception {
    Path of = write(authority, names);
    return await(LinkTls.read(vertx, files(of, ca(of))));
  }

  static TlsFiles files(Path of, Path authority) {
    return new ClusterConfig.ClusterTls(
            of.resolve("cert.pem"), of.resolve("key.pem"), authority, true)
        .files();
  }

  /** A certificate of this name, as the configuration names it. */
  public ClusterConfig.ClusterTls certificate(String name) throws Exception {
    Path of = write(authority, name);
    return new ClusterConfig.ClusterTls(
        of.resolve("cert.pem"), of.resolve("key.pem"), ca(of), true);
  }

  /** A certificate of another authority, for a client that trusts this world's. */
  public ClusterConfig.ClusterTls foreignCertificate(String name) throws Exception {
    Path known = ca(write(authority, "known"));
    Path of = write(Certificates.authority(), name);
    return new ClusterConfig.ClusterTls(of.resolve("cert.pem"), of.resolve("key.pem"), known, true);
  }

  /** Of another authority, and it knows that one alone, or this world's. */
  public LinkTls strange(boolean knowsUs, String... names) throws Exception {
    Path of = write(Certificates.authority(), names);
    Path known = knowsUs ? ca(write(authority, "known")) : ca(of);
    return await(LinkTls.read(vertx, files(of, known)));
  }

  /** Writes a certificate, its key and its authority to the folder of its first name. */
  Path write(X509Bundle issuer, String... names) throws Exception {
    CertificateBuilder builder =
        new CertificateBuilder()
            .algorithm(CertificateBuilder.Algorithm.ecp256)
            .subject("CN=" + names[0]);
    for (int i = 1; i < names.length; i++) {
      builder.addSanDnsName(names[i]);
    }
    X509Bundle own = builder.buildIssuedBy(issuer);
    Path of = Files.createDirectories(folder.resolve(names[0]));
    Certificates.write(of.resolve("key.pem"), own.getPrivateKeyPEM());
    Certificates.write(of.resolve("cert.pem"), own.getCertificatePathPEM());
    Certificates.write(of.resolve("ca.pem"), issuer.getCertificatePEM());
    return of;
  }

  static Path ca(Path of) {
    return of.resolve("ca.pem");
  }

  X509Bundle authority() {
    return authority;
  }

  public static <T> T await(Future<T> future) throws Exception {
    return future.toCompletionStage().toCompletableFuture().get(20, SECONDS);
  }

  /** Runs a step on a loop, and has what it returns. */
  public static <T> T on(ContextInternal loop, Callable<T> step) throws Exception {
    Promise<T> done = Promise.promise();
    loop.runOnContext(
        here -> {
          try {
            done.complete(step.call());
          } catch (Throwable failed) {
            done.fail(failed);
          }
        });
    return await(done.future());
  }

  /** Looks again every few milliseconds until it is so, or 20 s are over; on no loop. */
  public void eventually(Callable<Boolean> condition) throws Exception {
    CompletableFuture<Void> met = new CompletableFuture<>();
    ScheduledFuture<?> looks =
        timer.scheduleWithFixedDelay(
            () -> {
              try {
                if (condition.call()) {
                  met.complete(null);
                }
              } catch (Throwable failed) {
                met.completeExceptionally(failed);
              }
            },
            0,
            5,
            MILLISECONDS);
    try {
      met.get(20, SECONDS);
    } finally {
      looks.cancel(false);
    }
  }

  /** Does something later; on no loop. */
  public Future<Void> after(long millis, Runnable step) {
    Promise<Void> done = Promise.promise();
    timer.schedule(
        () -> {
          step.run();
          done.complete();
        },
        millis,
        MILLISECONDS);
    return done.future();
  }

  public void close() throws Exception {
    timer.shutdownNow();
    await(vertx.close());
  }
}
