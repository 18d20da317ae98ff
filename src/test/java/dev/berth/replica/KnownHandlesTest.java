package dev.berth.replica;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.berth.fakes.FakeParent;
import dev.berth.fakes.RoutingWorld;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class KnownHandlesTest {
  private final RoutingWorld world = new RoutingWorld();
  private final List<String> made = new ArrayList<>();
  private final HandleCache handles =
      new HandleCache(
          name -> {
            made.add(name);
            if (!name.equals(world.handle().deployment().name())) {
              throw new IllegalArgumentException("deployment: " + name);
            }
            return world.handle();
          });

  @Test
  void aHandleIsMadeOnceAndThenFoundByItsName() {
    String name = world.handle().deployment().name();
    assertThat(handles.of(name)).isSameAs(handles.of(new String(name.toCharArray())));
    assertThat(made).containsExactly(name);
  }

  @Test
  void eachRequestHasAHandleOfItsOwn() {
    var known = handles.of(world.handle().deployment().name());
    assertThat(known.within(new FakeParent())).isNotSameAs(known.within(new FakeParent()));
    assertThat(made).hasSize(1);
  }

  @Test
  void aRetiredReplicaMakesNoMoreAndKeepsThoseThatAreInUse() {
    String name = world.handle().deployment().name();
    var known = handles.of(name);
    handles.retire();
    assertThat(handles.of(name)).isSameAs(known);
    assertThatIllegalArgumentException().isThrownBy(() -> handles.of("other"));
    assertThat(made).containsExactly(name);
  }

  @Test
  void anUnknownNameIsRefusedEachTimeItIsAskedFor() {
    for (int i = 0; i < 2; i++) {
      assertThatIllegalArgumentException().isThrownBy(() -> handles.of("no-such"));
    }
    assertThat(made).containsExactly("no-such", "no-such");
  }
}
