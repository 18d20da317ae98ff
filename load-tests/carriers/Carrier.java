/** A carrier of messages between two event loops. */
enum Carrier {
  /** The mailboxes of an instance: {@code berth.messages: direct}. */
  MAILBOX("mailbox", false),
  /** The event bus inside an instance: {@code berth.messages: event_bus}. */
  EVENT_BUS("event bus, inside an instance", false),
  /** A data link between two nodes: {@code berth.messages: direct}. */
  DATA_LINK("data link", true),
  /** The event bus between two nodes: {@code berth.messages: event_bus}. */
  CLUSTERED_BUS("event bus, between nodes", true);

  final String label;

  /** Whether the receiving loop belongs to another node than the sending loop. */
  final boolean crosses;

  Carrier(String label, boolean crosses) {
    this.label = label;
    this.crosses = crosses;
  }
}
