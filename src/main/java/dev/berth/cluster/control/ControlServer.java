package dev.berth.cluster.control;

import dev.berth.cluster.control.ControlForm.Answer;
import dev.berth.cluster.control.ControlForm.Beat;
import dev.berth.cluster.control.ControlForm.Bus;
import dev.berth.cluster.control.ControlForm.Command;
import dev.berth.cluster.control.ControlForm.Event;
import dev.berth.cluster.control.ControlForm.Inventory;
import dev.berth.cluster.control.ControlForm.Leaving;
import dev.berth.cluster.control.ControlForm.NodeBeat;
import dev.berth.cluster.control.ControlForm.NodeLeft;
import dev.berth.cluster.link.Link;
import dev.berth.cluster.link.LinkSweep;
import dev.berth.cluster.link.LinkTls;
import dev.berth.cluster.link.SaidOnce;
import dev.berth.cluster.membership.Authority;
import dev.berth.cluster.membership.Handshake.Hello;
import dev.berth.cluster.membership.Handshake.Refused;
import dev.berth.cluster.membership.Member;
import dev.berth.cluster.membership.MemberAction;
import dev.berth.cluster.membership.MemberAction.Commit;
import dev.berth.cluster.membership.MemberAction.Dial;
import dev.berth.cluster.membership.MemberAction.End;
import dev.berth.cluster.membership.MemberAction.Farewell;
import dev.berth.cluster.membership.MemberAction.Greet;
import dev.berth.cluster.membership.MemberAction.Left;
import dev.berth.cluster.membership.MemberAction.Lost;
import dev.berth.cluster.membership.MemberAction.News;
import dev.berth.cluster.membership.MemberAction.Refuse;
import dev.berth.cluster.membership.MemberAction.Register;
import dev.berth.cluster.membership.MemberAction.StandBy;
import dev.berth.cluster.membership.MemberAction.Suspect;
import dev.berth.cluster.membership.MemberAction.Tell;
import dev.berth.cluster.membership.Membership;
import dev.berth.cluster.membership.MembershipRules;
import dev.berth.cluster.membership.MembershipStatus;
import dev.berth.cluster.membership.NodeInfo;
import dev.berth.cluster.membership.Registered;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.net.NetSocket;
import java.net.ConnectException;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The controller's end of all control links: runs the {@link Membership}, and carries what the
 * controller says. It belongs to the links' event loop; methods are for any thread, and what is
 * done by one thread is done in its order.
 */
public final class ControlServer {
  private static final Logger LOG = LoggerFactory.getLogger(ControlServer.class);

  /** From a connection until it is a member's; who takes longer calls again. */
  private static final long HELLO_MS = LinkTls.HANDSHAKE.toMillis();

  /** Told on the control event loop, in the order in which it happened. */
  public interface Listener {
    /**
     * @param fresh whether nothing is known of what it runs: it stops it
     */
    void joined(Member member, boolean fresh);

    /**
     * All that runs there. Commands reach the node from now on, and not before. Of what it throws,
     * here and when it is told an event, the node's link ends, so that it tells all of it again.
     */
    void inventory(Member member, Buffer payload);

    /** Of what is not in the last inventory. */
    void event(Member member, Buffer payload);

    /**
     * @param answer takes the answer, once; null when none is wanted
     */
    void bus(Member member, Buffer payload, @Nullable Consumer<Buffer> answer);

    /** What becomes of nodes. */
    void news(News news);
  }

  private final ControlLoops loops;
  private final MembershipRules rules;
  private final Registrations registrations;
  private final Supplier<Authority> authority;
  private final Listener listener;
  private final Membership membership;
  private final Map<Long, Peer> peers = new HashMap<>(); // by link
  private final Map<String, Peer> greeted = new HashMap<>(); // by name
  private @Nullable LinkSweep sweep;
  private final Map<String, String> refusedBy = new ConcurrentHashMap<>(); // reasons of nodes
  private volatile @Nullable String closed;
  private boolean stopped;
  private long lastLink;
  private final SaidOnce refusals = new SaidOnce(); // by node, and of others by themselves

  /**
   * @param authority of this controller, as it is now; any thread
   */
  public ControlServer(
      ControlLoops loops,
      MembershipRules rules,
      Registrations registrations,
      Supplier<Authority> authority,
      Listener listener) {
    this.loops = loops;
    this.rules = rules;
    this.registrations = registrations;
    this.authority = authority;
    this.listener = listener;
    this.membership = new Membership(rules, authority, registrations::includes, loops.now());
  }

  /** Begins; links may come. */
  public void start() {
    loops.run(
        () -> {
          Duration interval = Duration.ofNanos(rules.intervalNanos());
          sweep = new LinkSweep(loops.links(), interval, this::sweep);
          act(membership.start(registrations.known()));
        });
  }

  /** Of a server on the links' event loop. */
  public void accept(NetSocket socket) {
    String host = socket.remoteAddress().host();
    new SocketLine(loops.links(), loops.tls(), host, Peer::new).attach(socket);
  }

  /** For the node that the controller is on. */
  public Connector local() {
    return (address, user) -> LocalLine.connect(loops.links(), user, Peer::new);
  }

  /** Ends all links: nodes look for another controller. */
  public void stop() {
    loops.run(
        () -> {
          stopped = true;
          if (sweep != null) {
            sweep.stop();
          }
          endAll("the controller stops");
        });
  }

  private void endAll(String reason) {
    List.copyOf(peers.values()).forEach(each -> each.line.end(reason));
  }

  // --- what the controller wants ---

  /** Another controller began here: nodes are to call again, and to tell all that runs. */
  public void callAgain() {
    loops.run(() -> endAll("the controller began anew"));
  }

  /** Of no effect unless the node's inventory was told: its next one says that it is not done. */
  public void command(String node, Buffer payload) {
    to(node, peer -> peer.command(payload));
  }

  public void bus(String node, Buffer payload) {
    to(node, peer -> peer.line.say(new Bus(0, payload)));
  }

  private void to(String node, Consumer<Peer> say) {
    loops.run(
        () -> {
          Peer peer = greeted.get(node);
          if (peer != null) {
            say.accept(peer);
          }
        });
  }

  /** The controller commands nobody, since one before it did not. */
  public void standBy(String reason) {
    loops.run(() -> act(membership.standsBy(reason)));
  }

  /** Whether a node is to get no new work. */
  public void cordon(String node, boolean on) {
    loops.run(() -> act(membership.cordon(node, on)));
  }

  /** Nothing runs any more on a node that said goodbye. */
  public void left(String node) {
    loops.run(() -> act(membership.gone(node)));
  }

  /**
   * Says how it is, behind what was asked before.
   *
   * @param told of it on the control event loop
   */
  public void status(Consumer<MembershipStatus> told) {
    loops.run(
        () -> {
          MembershipStatus now = membership.status();
          loops.tell(() -> told.accept(now));
        });
  }

  /** A link that takes no more ends at once, and with it its place among the greeted. */
  private void everyone(Record message) {
    List.copyOf(greeted.values()).forEach(each -> each.line.say(message));
  }

  // --- what the membership wants ---

  private void act(List<MemberAction> actions) {
    closed = membership.closed();
    actions.forEach(this::act);
  }

  /** Why nodes refuse this controller, by name. Thread-safe. */
  public Map<String, String> refusedBy() {
    return Map.copyOf(refusedBy);
  }

  /** As {@link Membership#closed}. Thread-safe. */
  public @Nullable String closed() {
    return closed;
  }

  private void act(MemberAction action) {
    if (action instanceof Register it) {
      register(it);
    } else if (action instanceof Commit it) {
      commit(it.gone().who());
    } else if (action instanceof Dial it) {
      dial(it);
    } else if (action instanceof Greet it) {
      peer(it.link(), peer -> peer.greet(it));
    } else if (action instanceof Refuse it) {
      refuse(it);
    } else if (action instanceof Farewell it) {
      peer(it.link(), peer -> peer.line.say(new NodeLeft()));
    } else if (action instanceof End it) {
      peer(it.link(), peer -> peer.line.end(it.reason()));
    } else if (action instanceof News news) {
      spread(news);
    }
  }

  private void spread(News news) {
    if (news instanceof Tell it) {
      everyone(it.members());
    } else if (news instanceof Suspect it) {
      LOG.warn("node {}: {}", it.member().node().name(), it.suspected() ? "silent" : "is back");
    } else if (news instanceof Lost it) {
      refusedBy.remove(it.who().name());
      LOG.warn("node {}: lost, {}", it.who().busName(), it.reason());
    } else if (news instanceof Left it) {
      LOG.info("node {}: left", it.who().busName());
    } else if (news instanceof StandBy it) {
      LOG.error("this controller commands nobody: {}", it.reason());
    }
    loops.tell(() -> listener.news(news));
  }

  private void register(Register it) {
    registrations
        .register(it.name(), it.process())
        .onComplete(
            (done, failed) ->
                loops.run(() -> act(membership.registered(it.name(), registrations.known()))));
  }

  private void commit(Registered who) {
    registrations
        .gone(who.name(), who.number())
        .onComplete((done, failed) -> loops.run(() -> act(membership.ended(who, failed == null))));
  }

  private void dial(Dial it) {
    loops.later(
        () ->
            loops
                .dialer()
                .connect(it.port(), it.host())
                .onSuccess(NetSocket::close)
                .onComplete(
                    (socket, failed) -> act(membership.dialled(it.who(), refuses(failed)))));
  }

  /** Somebody is there who says that nobody listens; a time-out is nobody at all. */
  private static boolean refuses(@Nullable Throwable failed) {
    return failed instanceof ConnectException
        && String.valueOf(failed.getMessage()).contains("refused");
  }

  private void refuse(Refuse it) {
    if (refusals.isNew(it.name(), it.reason())) {
      LOG.warn("node {}: refused: {}", it.name(), it.reason());
    }
    peer(it.link(), peer -> peer.line.say(new Refused(it.reason())));
  }

  private void peer(long link, Consumer<Peer> act) {
    Peer peer = peers.get(link);
    if (peer != null) {
      act.accept(peer);
    }
  }

  // --- time ---

  private void sweep() {
    act(membership.sweep(loops.now()));
    everyone(new Beat(authority.get()));
  }

  /** Whoever is on a link. */
  private final class Peer implements Line.User {
    private final long link = ++lastLink;
    private final Line line;
    private boolean introduced;
    private @Nullable Member member; // once it was greeted
    private boolean commanded; // it may be, since its inventory was told
    private long upTo; // events that its inventory has

    Peer(Line line) {
      this.line = line;
      peers.put(link, this);
      loops.links().setTimer(HELLO_MS, due -> endIfNoMember());
    }

    private void endIfNoMember() {
      if (member == null) {
        line.end("no member's within " + HELLO_MS + " ms (expected: HELLO, and WELCOME)");
      }
    }

    void greet(Greet it) {
      member = it.member();
      greeted.put(it.member().node().name(), this);
      LOG.info("node {}: here, as {}", it.member().node().busName(), it.member().registration());
      line.say(it.welcome());
      line.say(membership.members());
      loops.tell(() -> listener.joined(it.member(), it.welcome().fresh()));
    }

    void command(Buffer payload) {
      if (commanded && membership.standsBy() == null) {
        line.say(new Command(authority.get(), payload));
      }
    }

    @Override
    public void said(Record message) {
      if (stopped) {
        line.end("the controller stops");
        return;
      }
      if (message instanceof Hello hello && !introduced) {
        introduced = true;
        NodeInfo who = hello.node();
        act(membership.hello(link, hello, line.refusal(rules.cluster(), who.name(), who.role())));
        return;
      }
      act(membership.heard(link));
      Member from = member;
      if (from == null) {
        return;
      }
      if (message instanceof Refused it) {
        LOG.warn("node {}: refuses this controller: {}", from.node().name(), it.reason());
        refusedBy.put(from.node().name(), it.reason());
      } else if (message instanceof NodeBeat it) {
        refusedBy.remove(from.node().name());
        membership.beat(link, Set.copyOf(it.unreachable()), it.pausedMillis());
      } else if (message instanceof Inventory it) {
        upTo = it.upTo();
        membership.told(link);
        loops.tell(() -> taken(() -> inventory(from, it.payload())));
      } else if (message instanceof Event it && it.number() > upTo) {
        loops.tell(() -> taken(() -> listener.event(from, it.payload())));
      } else if (message instanceof Bus it) {
        Consumer<Buffer> answer = it.ask() == 0 ? null : answers(it.ask());
        loops.tell(() -> taken(() -> listener.bus(from, it.payload(), answer)));
      } else if (message instanceof Leaving) {
        act(membership.leaving(link));
      }
    }

    /** What was commanded before the controller knew it is behind this, and not sent. */
    private void inventory(Member from, Buffer payload) {
      loops.later(() -> commanded = true);
      listener.inventory(from, payload);
      loops.later(() -> membership.taken(link, true));
    }

    /** What is lost here would be missing for good: the node is to tell all of it again. */
    private void taken(Runnable told) {
      try {
        told.run();
      } catch (RuntimeException unfit) {
        loops.run(
            () -> {
              membership.taken(link, false);
              line.end("what it told was not taken: " + unfit);
            });
      }
    }

    private Consumer<Buffer> answers(long ask) {
      return payload -> loops.run(() -> line.say(new Answer(ask, payload)));
    }

    @Override
    public void ended(String reason) {
      peers.remove(link);
      Member was = member;
      if (was != null && greeted.remove(was.node().name(), this)) {
        LOG.info("node {}: its link ended: {}", was.node().busName(), reason);
      } else if (!introduced
          && !stopped
          && !reason.contains(Link.CLOSED) // to see whether somebody listens
          && refusals.isNew(reason, reason)) {
        LOG.warn("control links: refused: {}", reason);
      }
      act(membership.closed(link));
    }
  }
}
