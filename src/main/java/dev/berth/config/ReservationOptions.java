package dev.berth.config;

import dev.berth.config.keys.ConfigKey;
import dev.berth.config.keys.Keys;
import dev.berth.config.keys.Section;
import dev.berth.config.keys.Settings;
import dev.berth.config.keys.Types;
import java.time.Duration;
import java.util.List;

/** {@code berth.reservations}: slots reserved for external clients, identified by tokens. */
public final class ReservationOptions {

  private static final Keys KEYS = new Keys();

  public static final ConfigKey<Integer> MAX_HELD_TOTAL =
      KEYS.key("max_held_total", Types.integer(1, 1_000_000, "reservations"), 10_000)
          .means(
              "Reservations of all callers at this instance, held or waiting. A further one gets"
                  + " 503.");
  public static final ConfigKey<Integer> MAX_HELD_PER_CALLER =
      KEYS.key("max_held_per_caller", Types.integer(1, 1_000_000, "reservations"), 100)
          .means(
              "The same for one caller: a client certificate, a bearer token's name, or else an"
                  + " address (for IPv6 the first 64 bits). A further one gets 429.");
  public static final ConfigKey<Duration> MAX_WAIT_S =
      KEYS.key("max_wait_s", Types.SECONDS, Duration.ofSeconds(60))
          .means(
              "Upper limit of wait_timeout_s in requests. The deployment's queue_timeout_s applies"
                  + " too.");

  // Ended tokens and keys: retained so that late clients receive the true outcome.
  public static final ConfigKey<Integer> MAX_ENDED =
      KEYS.key("max_ended", Types.integer(1, 10_000_000, "reservations"), 20_000)
          .means(
              "Ended reservations retained for their ttl_s, at least 60 s, to report the end by"
                  + " token. Beyond it the oldest is unknown, 404.");
  public static final ConfigKey<Integer> MAX_IDEMPOTENCY_KEYS =
      KEYS.key("max_idempotency_keys", Types.integer(1, 1_000_000, "keys"), 10_000)
          .means(
              "Retained idempotency keys of all callers. Beyond it, the caller with the most loses"
                  + " its oldest.");
  public static final ConfigKey<Integer> MAX_IDEMPOTENCY_KEYS_PER_CALLER =
      KEYS.key("max_idempotency_keys_per_caller", Types.integer(1, 1_000_000, "keys"), 1_000)
          .means("The same for one caller. Beyond it, its oldest is forgotten.");
  public static final ConfigKey<Duration> IDEMPOTENCY_KEY_TTL_S =
      KEYS.key("idempotency_key_ttl_s", Types.SECONDS, Duration.ofMinutes(10))
          .means("Retention time of an idempotency key.");
  public static final ConfigKey<Boolean> DATA_PORT =
      KEYS.key("data_port", Types.BOOL, false)
          .means(
              "Whether reservations are also served on the traffic port, under /-/api/v1. Clients"
                  + " must present a bearer token of bearer_tokens, or a certificate accepted by"
                  + " http_options.ssl_ca_certs; one of the two must be set.");
  public static final ConfigKey<List<Settings>> BEARER_TOKENS =
      KEYS.key("bearer_tokens", Types.list(BearerToken.SECTION), List.of())
          .means("Clients that authenticate by a secret in Authorization: Bearer.");

  static final Section SECTION =
      KEYS.section().check(values -> values.requireUnique(BEARER_TOKENS, BearerToken.NAME));

  private ReservationOptions() {}
}
