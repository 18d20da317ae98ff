package dev.berth.config;

import java.time.Duration;
import java.util.List;

/**
 * {@code berth.reservations}: slots held for clients by tokens.
 *
 * @param maxHeldTotal reservations held or waited for, of all callers; then 503
 * @param maxHeldPerCaller the same for one caller; then 429
 * @param maxWait longest wait for a slot that may be asked for
 * @param maxEnded ended reservations remembered, so that their tokens are told how they ended
 * @param maxKeysTotal idempotency keys remembered, of all callers
 * @param maxKeysPerCaller the same for one caller
 * @param keyTtl how long an idempotency key is remembered
 * @param dataPort whether reservations are also made on the port of the traffic
 * @param bearerTokens the clients that show a secret
 */
public record ReservationOptions(
    int maxHeldTotal,
    int maxHeldPerCaller,
    Duration maxWait,
    int maxEnded,
    int maxKeysTotal,
    int maxKeysPerCaller,
    Duration keyTtl,
    boolean dataPort,
    List<BearerToken> bearerTokens) {

  static final Key<Integer> MAX_HELD_TOTAL =
      Key.of(
          "max_held_total",
          Types.integer(1, 1_000_000, "reservations"),
          Defaults.MAX_HELD_TOTAL,
          "Reservations held or waited for, of all callers. The next one gets 503.");
  static final Key<Integer> MAX_HELD_PER_CALLER =
      Key.of(
          "max_held_per_caller",
          Types.integer(1, 1_000_000, "reservations"),
          Defaults.MAX_HELD_PER_CALLER,
          "The same for one caller: a client certificate, a bearer token's name, or else an address"
              + " (of IPv6 the first 64 bits). The next one gets 429.");
  static final Key<Duration> MAX_WAIT_S =
      Key.of(
          "max_wait_s",
          Types.seconds(),
          Defaults.MAX_RESERVATION_WAIT,
          "Longest wait_timeout_s that may be asked for. The deployment's queue_timeout_s bounds it"
              + " too.");
  static final Key<Integer> MAX_ENDED =
      Key.of(
          "max_ended",
          Types.integer(1, 10_000_000, "reservations"),
          Defaults.MAX_ENDED_RESERVATIONS,
          "Ended reservations remembered for their ttl_s, at least 60 s, so that their tokens are"
              + " told how they ended. Past it the oldest is unknown, 404.");
  static final Key<Integer> MAX_IDEMPOTENCY_KEYS =
      Key.of(
          "max_idempotency_keys",
          Types.integer(1, 1_000_000, "keys"),
          Defaults.MAX_IDEMPOTENCY_KEYS,
          "Idempotency keys remembered, of all callers. Past it the caller with most loses its"
              + " oldest.");
  static final Key<Integer> MAX_IDEMPOTENCY_KEYS_PER_CALLER =
      Key.of(
          "max_idempotency_keys_per_caller",
          Types.integer(1, 1_000_000, "keys"),
          Defaults.MAX_IDEMPOTENCY_KEYS_PER_CALLER,
          "The same for one caller. Past it its oldest is forgotten.");
  static final Key<Duration> IDEMPOTENCY_KEY_TTL_S =
      Key.of(
          "idempotency_key_ttl_s",
          Types.seconds(),
          Defaults.IDEMPOTENCY_KEY_TTL,
          "How long an idempotency key is remembered.");
  static final Key<Boolean> DATA_PORT =
      Key.of(
          "data_port",
          Types.bool(),
          Defaults.RESERVATIONS_ON_DATA_PORT,
          "Whether reservations are also made on the port of the traffic, under /-/api/v1. Clients"
              + " must then show a bearer token of bearer_tokens, or a certificate that"
              + " http_options.ssl_ca_certs accepts; one of the two must be set.");
  static final Key<List<Values>> BEARER_TOKENS =
      Key.of(
          "bearer_tokens",
          Types.list(BearerToken.SECTION),
          List.of(),
          "Clients that show a secret in Authorization: Bearer.");

  static final Section SECTION =
      Section.of(
              MAX_HELD_TOTAL,
              MAX_HELD_PER_CALLER,
              MAX_WAIT_S,
              MAX_ENDED,
              MAX_IDEMPOTENCY_KEYS,
              MAX_IDEMPOTENCY_KEYS_PER_CALLER,
              IDEMPOTENCY_KEY_TTL_S,
              DATA_PORT,
              BEARER_TOKENS)
          .check(values -> Values.requireUnique(values.find(BEARER_TOKENS), BearerToken.NAME));

  /** Checks each value against its key. */
  public ReservationOptions {
    MAX_HELD_TOTAL.require(maxHeldTotal);
    MAX_HELD_PER_CALLER.require(maxHeldPerCaller);
    MAX_WAIT_S.require(maxWait);
    MAX_ENDED.require(maxEnded);
    MAX_IDEMPOTENCY_KEYS.require(maxKeysTotal);
    MAX_IDEMPOTENCY_KEYS_PER_CALLER.require(maxKeysPerCaller);
    IDEMPOTENCY_KEY_TTL_S.require(keyTtl);
    bearerTokens = List.copyOf(bearerTokens);
  }

  static ReservationOptions from(Values values) {
    return new ReservationOptions(
        values.get(MAX_HELD_TOTAL),
        values.get(MAX_HELD_PER_CALLER),
        values.get(MAX_WAIT_S),
        values.get(MAX_ENDED),
        values.get(MAX_IDEMPOTENCY_KEYS),
        values.get(MAX_IDEMPOTENCY_KEYS_PER_CALLER),
        values.get(IDEMPOTENCY_KEY_TTL_S),
        values.get(DATA_PORT),
        values.get(BEARER_TOKENS).stream().map(BearerToken::from).toList());
  }
}
