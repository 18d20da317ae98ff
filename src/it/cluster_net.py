"""The network between the three nodes of a trial: `Namespaces` where these are permitted, else `Relays`
on the loopback. Both have

    host(node)                 address at which the others reach the node
    settings(node)             `--set` options of its process
    prefix(node)               prefix of a command that runs in the node's network
    drop(node, peers, share)   drops this share of a hundred packets from the peers to the node
    delay(node, seconds)       delays all traffic from the node
    heal()                     ends all drops and delays at once
"""

import asyncio
import ctypes
import os
import random
import re
import socket
import struct
import subprocess
import threading
import time

NAMES = ("n1", "n2", "n3")
RESEND_S = 0.2  # minimum time until TCP resends a lost packet
CHUNK = 64 * 1024


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise OSError(f"{' '.join(words)}: {done.stderr or done.stdout}")


class Namespaces:
    """A network namespace for each node, on one bridge; `nft` drops and `tc` delays packets."""

    def __init__(self):
        self.holders = {}
        run("ip", "link", "add", "berth0", "type", "bridge")
        run("ip", "addr", "add", "10.77.0.254/24", "dev", "berth0")
        run("ip", "link", "set", "berth0", "up")
        for i, name in enumerate(NAMES, 1):
            holder = subprocess.Popen(["unshare", "-n", "sleep", "7200"])
            self.holders[name] = holder
            while os.readlink(f"/proc/{holder.pid}/ns/net") == os.readlink("/proc/self/ns/net"):
                time.sleep(0.02)
            run("ip", "link", "add", f"berth{i}", "type", "veth", "peer", "name", "eth0",
                "netns", str(holder.pid))
            run("ip", "link", "set", f"berth{i}", "master", "berth0")
            run("ip", "link", "set", f"berth{i}", "up")
            self.within(name, "ip", "addr", "add", f"{self.host(name)}/24", "dev", "eth0")
            self.within(name, "ip", "link", "set", "eth0", "up")
            self.within(name, "ip", "link", "set", "lo", "up")
            self.within(name, "nft", "add table inet t; add chain inet t in"
                        " { type filter hook input priority 0; }")

    @staticmethod
    def delays():
        """Returns whether this kernel supports delays by netem."""
        return subprocess.run(["tc", "qdisc", "add", "dev", "lo", "root", "netem", "delay", "0ms"],
                              capture_output=True, check=False).returncode == 0

    @staticmethod
    def host(name):
        return f"10.77.0.{name[1:]}"

    @staticmethod
    def settings(_):
        return []

    def prefix(self, name):
        return ["nsenter", "-t", str(self.holders[name].pid), "-n"]

    def within(self, name, *words):
        run(*self.prefix(name), *words)

    def drop(self, name, peers, share=100):
        for peer in peers:
            chance = "" if share == 100 else f"numgen random mod 100 < {share} "
            self.within(name, "nft", f"add rule inet t in ip saddr {self.host(peer)} {chance}drop")

    def delay(self, name, seconds):
        self.within(name, "tc", "qdisc", "replace", "dev", "eth0", "root", "netem", "delay",
                    f"{int(1000 * seconds)}ms")

    def heal(self):
        for name in NAMES:
            self.within(name, "nft", "flush chain inet t in")
            subprocess.run([*self.prefix(name), "tc", "qdisc", "del", "dev", "eth0", "root"],
                           capture_output=True, check=False)  # usually absent

    def enter(self, name):
        """Moves the calling thread into the node's namespace permanently."""
        with open(f"/proc/{self.holders[name].pid}/ns/net", encoding="utf-8") as there:
            if ctypes.CDLL(None, use_errno=True).setns(there.fileno(), 0):
                raise OSError(ctypes.get_errno(), "setns")

    def started(self, name, pid, ports):
        pass

    def end(self):
        for holder in self.holders.values():
            holder.kill()


class Relays:
    """Relays on the loopback. Node i listens on 127.0.1.i and is known by 127.0.2.i, where this process
    listens and relays each direction separately. TCP delivers all bytes in order, so a dropped packet
    arrives late here: after TCP's resend time, or after heal().
    """

    def __init__(self):
        self.pids, self.ports = {}, {}
        self.rules = {}  # (from, to): (share of a hundred, seconds; None: until heal())
        self.listening = {}  # (node, port): server
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, daemon=True).start()
        asyncio.run_coroutine_threadsafe(self.watch(), self.loop)

    @staticmethod
    def delays():
        return True

    @staticmethod
    def host(name):
        return f"127.0.2.{name[1:]}"

    @staticmethod
    def settings(name):
        return ["--set", f"berth.cluster.bind=127.0.1.{name[1:]}"]

    @staticmethod
    def prefix(_):
        return []

    def enter(self, name):
        pass

    def drop(self, name, peers, share=100):
        for peer in peers:
            self.rules[peer, name] = (share, None if share == 100 else RESEND_S)

    def delay(self, name, seconds):
        for peer in NAMES:
            self.rules[name, peer] = (100, seconds)

    def heal(self):
        self.rules.clear()

    def started(self, name, pid, ports):
        """Records the node's process and the ports on which it will listen."""
        self.pids[name], self.ports[name] = pid, ports

    def end(self):
        self.loop.call_soon_threadsafe(lambda: [each.cancel() for each in asyncio.all_tasks(self.loop)])

    # --- on the loop ---

    async def watch(self):
        """Listens on exactly those ports on which the nodes listen."""
        while True:
            listens = {row[0] for row in tcp() if row[2] == "0A"}
            for name, ports in list(self.ports.items()):
                for port in ports:
                    there = (f"127.0.1.{name[1:]}", port) in listens
                    server = self.listening.get((name, port))
                    if there and server is None:
                        self.listening[name, port] = await asyncio.start_server(
                            lambda r, w, to=name, at=port: self.relay(r, w, to, at), self.host(name), port)
                    elif not there and server is not None:
                        self.listening.pop((name, port)).close()
            await asyncio.sleep(0.05)

    def owner(self, address):
        """Returns the name of the node with the socket of this address; empty for other processes."""
        inode = next((f"socket:[{row[3]}]" for row in tcp() if row[0] == address), "")
        for name, pid in self.pids.items():
            try:
                if any(os.readlink(f"/proc/{pid}/fd/{each}") == inode for each in os.listdir(f"/proc/{pid}/fd")):
                    return name
            except OSError:
                pass  # the process ended, or closed that file
        return ""

    async def relay(self, reader, writer, to, port):
        come_from = self.owner(writer.get_extra_info("peername"))
        try:
            back_reader, back_writer = await asyncio.open_connection(f"127.0.1.{to[1:]}", port)
        except OSError:
            writer.transport.abort()
            return
        both = (writer, back_writer)
        await asyncio.gather(self.pump(reader, back_writer, (come_from, to), both),
                             self.pump(back_reader, writer, (to, come_from), both))
        for each in both:
            each.close()

    async def pump(self, reader, writer, way, both):
        """Writes the data of one direction in order, each chunk when it is due."""
        waiting = asyncio.Queue(64)
        taking = asyncio.ensure_future(self.take(reader, way, waiting))
        try:
            while True:
                due, data = await waiting.get()
                await asyncio.sleep(max(0.0, due - time.monotonic()))
                while self.rules.get(way) == (100, None):
                    await asyncio.sleep(0.02)
                if data is None:  # the sender reset the connection
                    raise OSError
                if not data:
                    writer.write_eof()
                    return
                writer.write(data)
                await writer.drain()
        except (OSError, RuntimeError):
            for each in both:
                each.transport.abort()
        finally:
            taking.cancel()

    async def take(self, reader, way, waiting):
        due, data = 0.0, b"-"
        while data:
            try:
                data = await reader.read(CHUNK)
            except OSError:
                data = None
            share, seconds = self.rules.get(way, (0, 0))
            if seconds and random.randrange(100) < share:
                due = max(due, time.monotonic() + seconds)
            await waiting.put((due, data))


def tcp(path="/proc/net"):
    """Returns for each socket: local address, remote address, state, inode, unsent and unread bytes."""
    rows = []
    for file in ("tcp", "tcp6"):
        with open(f"{path}/{file}", encoding="ascii") as lines:
            for line in list(lines)[1:]:
                words = line.split()
                sent, read = (int(each, 16) for each in words[4].split(":"))
                rows.append((address(words[1]), address(words[2]), words[3], words[9], sent, read))
    return rows


def address(words):
    host, port = words.split(":")
    last = re.fullmatch("(?:0{16}0000FFFF0000|0{16}FFFF0000)?([0-9A-F]{8})", host)
    shown = socket.inet_ntoa(struct.pack("<I", int(last[1], 16))) if last else host
    return shown, int(port, 16)
