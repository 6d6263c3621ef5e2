# SPDX-License-Identifier: LGPL-2.1-or-later
"""MQTT and NATS JetStream, as publish.py and consume.py use them

A connection that fails is `Away`, and never comes back: make a new one. Nothing is queued in here,
so whoever sends knows what was acknowledged.

MQTT needs python3-paho-mqtt, or paho-mqtt from PyPI; NATS needs nats-py from PyPI.
"""
import asyncio
import collections
import sys
import time
import urllib.parse

PREFIX = 'integralhist'  # of topics (integralhist/CAMERA/tracks), and of subjects with dots
WINDOW = 100             # messages that may wait for an acknowledgement at once
TIMEOUT = 10             # seconds to wait for an acknowledgement
PORTS = {'mqtt': 1883, 'nats': 4222}
KEPT = 7 * 24 * 3600     # seconds that a JetStream stream keeps a message

# user and password are None if the URL has none
Address = collections.namedtuple('Address', 'scheme host port user password')


class Away(Exception):
    """The connection is lost, with the reason"""


def parse(url):
    """Returns the Address of a URL. A ValueError does not quote the URL: a part of it is secret"""
    try:
        parts = urllib.parse.urlsplit(url if '://' in url else f'mqtt://{url}')
        port = parts.port or PORTS[parts.scheme]  # raises ValueError if it is not a number
        if not parts.hostname or parts.path.strip('/') or parts.query or parts.fragment:
            raise ValueError
    except (KeyError, ValueError):
        raise ValueError('this is not a broker: give mqtt://HOST:PORT or nats://HOST:PORT, and in '
                         'user and password %2F for /, %40 for @, and so on') from None
    user, password = (text and urllib.parse.unquote(text)
                      for text in (parts.username, parts.password))
    return Address(parts.scheme, parts.hostname, port, user, password)


def connect(address, client, store=None):
    """Connects a client of this name

    With `store ([text])` the client receives: check () calls `store`, and then acknowledges the
    messages. The broker keeps messages for such a client while it is away.
    """
    return (Mqtt if address.scheme == 'mqtt' else Nats)(address, client, store)


class Mqtt:
    """QoS 1 by paho-mqtt, version 1 or 2. All work happens in the caller's thread"""

    def __init__(self, address, client, store):
        import paho.mqtt.client as paho
        self.paho, self.answered = paho, []
        versions = getattr(paho, 'CallbackAPIVersion', None)
        self.client = paho.Client(*([versions.VERSION2] if versions else []), client_id=client,
                                  clean_session=not store)
        self.client.max_inflight_messages_set(WINDOW)
        if address.user:
            self.client.username_pw_set(address.user, address.password)
        self.client.on_connect = lambda client, data, flags, code, *_: self.answered.append(code)
        self.client.on_subscribe = lambda client, data, mid, codes, *_: self.answered.append(codes)
        self.client.on_message = lambda client, data, message: store([message.payload])
        where = f'{address.host}:{address.port}'
        try:
            self.client.connect(address.host, address.port, keepalive=TIMEOUT)
            self.wait(lambda: self.answered)
            if str(self.answered[0]) not in ('0', 'Success'):
                raise Away(f'{where} refuses: {self.answered[0]}')
            if store:
                self.client.subscribe(f'{PREFIX}/+/tracks', qos=1)
                self.wait(lambda: len(self.answered) > 1)
                granted, = self.answered[1]  # a number, or an object that has a number
                if getattr(granted, 'value', granted) != 1:
                    raise Away(f'{where} refuses the subscription with QoS 1: {granted}')
        except (Away, OSError) as problem:
            self.close()
            raise problem if isinstance(problem, Away) else Away(
                f'{where}: {problem.strerror or problem}') from None

    def wait(self, done):
        deadline = time.monotonic() + TIMEOUT
        while not done():
            self.check(0.1)
            if time.monotonic() > deadline:
                raise Away(f'no answer in {TIMEOUT} s')

    def check(self, seconds):
        """Waits, and receives messages"""
        code = self.client.loop(seconds)
        if code:
            raise Away(self.paho.error_string(code))

    def send(self, camera, messages):
        """Sends (id, text), and returns when all are acknowledged"""
        sent = [self.client.publish(f'{PREFIX}/{camera}/tracks', text, qos=1)
                for _, text in messages]
        if any(message.rc for message in sent):
            raise Away('the connection broke')
        self.wait(lambda: all(message.is_published() for message in sent))

    def close(self):
        """Disconnects. The client closes its sockets when no reference to it is left"""
        self.client.disconnect()
        self.client = None


class Nats:
    """JetStream by nats-py. The event loop runs only while one of these methods runs"""

    def __init__(self, address, client, store):
        import nats
        self.errors = nats.errors.Error, asyncio.TimeoutError, OSError, EOFError
        self.loop, self.store, self.client = asyncio.new_event_loop(), store, None
        self.where = f'{address.host}:{address.port}'
        self.closed = self.loop.create_future()

        async def ignore(_):
            """Ignores errors: the methods report them"""

        async def note_closed():
            self.closed.done() or self.closed.set_result(None)

        host = f'[{address.host}]' if ':' in address.host else address.host
        login = {'token': address.user} if address.password is None else \
            {'user': address.user, 'password': address.password}
        try:
            self.client = self.run(nats.connect(
                f'nats://{host}:{address.port}', name=client, allow_reconnect=False,
                error_cb=ignore, closed_cb=note_closed, max_reconnect_attempts=0,
                connect_timeout=TIMEOUT, **login))
            self.stream = self.client.jetstream(timeout=TIMEOUT)
            self.run(self.make_stream())
            if store:  # messages without acknowledgement come again after ack_wait
                self.puller = self.run(self.stream.pull_subscribe(
                    f'{PREFIX}.*.tracks', durable=client,
                    config=nats.js.api.ConsumerConfig(ack_wait=TIMEOUT / 2)))
        except Away:
            self.close()
            raise

    async def make_stream(self):
        """Makes the stream. If a stream has the subjects already, it is used as it is"""
        from nats.js.errors import NotFoundError
        subjects = f'{PREFIX}.*.tracks'
        try:
            await self.stream.find_stream_name_by_subject(subjects)
        except NotFoundError:
            await self.stream.add_stream(name=PREFIX, subjects=[subjects], duplicate_window=600,
                                         max_age=KEPT)

    def run(self, work):
        try:
            return self.loop.run_until_complete(work)
        except self.errors as problem:
            raise Away(f'{self.where}: {str(problem) or type(problem).__name__}') from None

    def check(self, seconds):
        self.run(self.take(seconds) if self.store else asyncio.sleep(seconds))
        if not self.client.is_connected:
            raise Away(f'{self.where}: the connection broke')

    def send(self, camera, messages):
        async def publish():
            answers = asyncio.gather(*(
                self.stream.publish(f'{PREFIX}.{camera}.tracks', text.encode(),
                                    headers={'Nats-Msg-Id': name}, timeout=TIMEOUT)
                for name, text in messages))
            await asyncio.wait((answers, self.closed), return_when=asyncio.FIRST_COMPLETED)
            if not answers.done():
                answers.cancel()
                raise ConnectionError('the connection broke')
            await answers

        self.run(publish())

    async def take(self, seconds):
        try:
            messages = await self.puller.fetch(WINDOW, timeout=max(seconds, 0.1))
        except asyncio.TimeoutError:
            return
        self.store([message.data for message in messages])
        for message in messages:
            await message.ack()

    def close(self):
        try:
            if self.client:
                self.loop.run_until_complete(self.client.close())
        except self.errors:
            pass
        self.loop.close()


def need(address, script):
    """Exits if the package for this kind of broker is missing"""
    try:
        __import__({'mqtt': 'paho.mqtt.client', 'nats': 'nats'}[address.scheme])
    except ImportError:
        sys.exit(f'{script}: ' + {
            'mqtt': 'there is no paho: install python3-paho-mqtt, or paho-mqtt from PyPI',
            'nats': 'there is no nats: install nats-py from PyPI'}[address.scheme])
