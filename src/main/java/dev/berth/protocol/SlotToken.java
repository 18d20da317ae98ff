package dev.berth.protocol;

import static dev.berth.protocol.Wire.WireForm.FIXED;

/**
 * The claim to a reserved slot. Unguessable, and never printed: its bearer may use the slot.
 *
 * @param epoch the replica incarnation that granted the lease
 * @param sequence rises by one with each lease of that incarnation
 * @param secret 64 random bits
 */
@Wire.WireKey
public record SlotToken(@Wire(FIXED) long epoch, long sequence, @Wire(FIXED) long secret) {
  @Override
  public String toString() {
    return "SlotToken[" + epoch + "/" + sequence + "]";
  }
}
