import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { resolverDns } from '../../server/domains/dns/resolver.ts'
import { PATIENT } from '../support/patient.ts'
import {
  encodedName,
  encodedTexts,
  type MisbehavingDns,
  type Question,
  record,
  reply,
  startMisbehavingDns,
  TYPES,
} from '../tools/misbehaving-dns.ts'
import { freePort } from '../tools/port.ts'

/** Timeout of queries that no answer ends; determines the duration of these tests. */
const TIMEOUT_MS = 400

/** Timeout of queries that get one. */
const timeoutMs = PATIENT.dns

const TIMEOUT_MESSAGE = 'the DNS lookup of www.example.test timed out'
const MALFORMED_MESSAGE = 'the DNS response for www.example.test is invalid'

const texts = (question: Question, ...strings: string[]) =>
  reply(question, { answers: [record(question.name, TYPES.TXT, encodedTexts(...strings))] })

interface Case {
  server: string
  answer?: MisbehavingDns['answer']
  stream?: MisbehavingDns['stream']
  values?: string[]
  error?: string
}

// biome-ignore format: one row per case
const cases: Case[] = [
  { server: 'is silent', error: TIMEOUT_MESSAGE },
  { server: 'responds with other ids', answer: (q) => [reply(q, { id: q.message.readUInt16BE(0) ^ 1 })], error: TIMEOUT_MESSAGE },
  { server: 'responds for another name', answer: (q) => [reply(q, { name: 'other.test', answers: [record('other.test', TYPES.TXT, encodedTexts('lie'))] })], error: TIMEOUT_MESSAGE },
  { server: 'sends a wrong response first and then the right one', answer: (q) => [reply(q, { id: q.message.readUInt16BE(0) ^ 1 }), texts(q, 'right')], values: ['right'] },
  { server: 'sends garbage', answer: () => [Buffer.from('garbage'), Buffer.alloc(500, 0xff)], error: MALFORMED_MESSAGE },
  { server: 'claims more records than there are', answer: (q) => [reply(q, { claimed: 65535, answers: [record(q.name, TYPES.TXT, encodedTexts('one'))] })], error: MALFORMED_MESSAGE },
  { server: 'sends a string that is longer than its record', answer: (q) => [reply(q, { answers: [record(q.name, TYPES.TXT, Buffer.from([200, 65]))] })], error: MALFORMED_MESSAGE },
  { server: 'sends a name that points at itself', answer: (q) => [reply(q, { answers: [Buffer.from([0xc0, 12 + q.name.length + 6, 0, 16, 0, 1])] })], error: MALFORMED_MESSAGE },
  { server: 'sends control characters', answer: (q) => [texts(q, 'a\0b\x1b[2J', '\xff')], values: ['a\ufffdb\ufffd[2Jÿ'] },
  { server: 'fails', answer: (q) => [reply(q, { rcode: 2 })], error: 'the DNS servers of www.example.test fail or do not respond' },
  { server: 'refuses', answer: (q) => [reply(q, { rcode: 5 })], error: 'the DNS server refused the lookup of www.example.test' },
  { server: 'responds with FORMERR', answer: (q) => [reply(q, { rcode: 1 })], error: MALFORMED_MESSAGE },
  { server: 'responds with NOTIMP', answer: (q) => [reply(q, { rcode: 4 })], error: MALFORMED_MESSAGE },
  { server: 'responds with NXDOMAIN', answer: (q) => [reply(q, { rcode: 3 })], values: [] },
  { server: 'responds without records', answer: (q) => [reply(q, {})], values: [] },
  {
    server: 'sends a thousand records',
    answer: (q) => [
      q.by === 'udp'
        ? reply(q, { truncated: true })
        : reply(q, {
            answers: Array.from({ length: 1000 }, () => record(q.name, TYPES.TXT, encodedTexts('x'))),
          }),
    ],
    values: Array.from({ length: 100 }, () => 'x'),
    error: 'it has more than 100 TXT records',
  },
  {
    server: 'sends a response of 64 KiB',
    answer: (q) => [
      q.by === 'udp'
        ? reply(q, { truncated: true })
        : texts(q, ...Array.from({ length: 240 }, () => 'x'.repeat(255))),
    ],
    values: ['x'.repeat(240 * 255)],
  },
  { server: 'is cut off and cannot be reached by TCP', answer: (q) => [reply(q, { truncated: true })], stream: (_, socket) => socket.destroy(), error: 'no DNS server is reachable' },
  {
    server: 'sends a byte now and then',
    answer: (q) => [reply(q, { truncated: true })],
    stream: (_, socket) => {
      const timer = setInterval(() => socket.write('\xff'), 20)
      socket.on('close', () => clearInterval(timer))
    },
    error: TIMEOUT_MESSAGE,
  },
  { server: 'sends 4 MB of nothing', answer: (q) => [reply(q, { truncated: true })], stream: (_, socket) => void socket.write(Buffer.alloc(4 * 2 ** 20)), error: TIMEOUT_MESSAGE },
]

for (const { server, answer, stream, values = [], error } of cases) {
  test(`the result reports it when a DNS server ${server}`, async () => {
    await using dns = await startMisbehavingDns()
    if (answer) dns.answer = answer
    dns.stream = stream
    const before = process.memoryUsage().rss
    const isShort = error === TIMEOUT_MESSAGE
    const { txt } = resolverDns({ servers: [dns.address], timeoutMs: isShort ? TIMEOUT_MS : timeoutMs })
    assert.deepEqual(await txt('www.example.test'), { values, ...(error ? { error } : {}) })
    assert.ok(process.memoryUsage().rss - before < 64 * 2 ** 20)
  })
}

test('a DNS server that sends responses without end times out like any other', async () => {
  const server = new Worker(new URL('flood.ts', import.meta.url))
  const [address] = await once(server, 'message')
  const before = process.memoryUsage().rss
  const { txt } = resolverDns({ servers: [address], timeoutMs: TIMEOUT_MS })
  assert.deepEqual(await txt('www.example.test'), { values: [], error: TIMEOUT_MESSAGE })
  assert.ok(process.memoryUsage().rss - before < 64 * 2 ** 20)
  server.postMessage('end')
  await once(server, 'exit')
})

test('endless and circular aliases are errors', async () => {
  await using dns = await startMisbehavingDns()
  const { cname } = resolverDns({ servers: [dns.address], timeoutMs })
  const to = (target: (question: Question) => string) => {
    dns.answer = (question) => [
      reply(question, { answers: [record(question.name, TYPES.CNAME, encodedName(target(question)))] }),
    ]
  }
  to(({ name }) => `x${name}`)
  assert.equal((await cname('a.test')).error, 'its chain of CNAME records is longer than 8')
  to(() => 'A.TEST')
  assert.deepEqual(await cname('a.test'), { values: [], error: 'its CNAME records form a loop' })
  to(() => 'a b\x00c.test')
  assert.match((await cname('a.test')).error!, /is not a valid DNS name$/)
  to(({ name }) => (name === 'a.test' ? Array.from({ length: 63 }, () => 'abc').join('.') : 'b.test'))
  assert.equal((await cname('a.test')).values.at(-1), 'b.test')
})

test('an invalid DNS name is not queried', async () => {
  await using dns = await startMisbehavingDns()
  const { txt: queryTxt } = resolverDns({ servers: [dns.address], timeoutMs })
  for (const name of [
    '',
    `${'abcdefghi.'.repeat(25)}test`,
    `${'x'.repeat(64)}.test`,
    'a..test',
    'ä.test',
    'a b',
  ]) {
    assert.match((await queryTxt(name)).error!, /is not a valid DNS name$/)
  }
  assert.deepEqual(dns.questions, [])
})

test('the next DNS server is queried when one is silent, fails or is unreachable', async () => {
  await using bad = await startMisbehavingDns()
  await using good = await startMisbehavingDns()
  good.answer = (question) => [texts(question, 'found')]
  const queryTxt = (first: string, limitMs = timeoutMs) =>
    resolverDns({ servers: [first, good.address], timeoutMs: limitMs }).txt('www.example.test')
  // The good server has five sixths of it.
  assert.deepEqual(await queryTxt(bad.address, 15_000), { values: ['found'] })
  bad.answer = (question) => [reply(question, { rcode: 5 })]
  assert.deepEqual(await queryTxt(bad.address), { values: ['found'] })
  assert.deepEqual(await queryTxt(`127.0.0.1:${await freePort()}`), { values: ['found'] })
})

test('silent names up to the concurrency limit do not delay another name', async () => {
  await using dns = await startMisbehavingDns()
  dns.answer = (question) => (question.name === 'good.test' ? [texts(question, 'found')] : [])
  const { cname, addresses, txt: queryTxt } = resolverDns({ servers: [dns.address], timeoutMs })
  const queryAll = (name: string) => Promise.all([cname(name), addresses(name), queryTxt(name)])
  for (let index = 0; index < 61; index++) void queryAll(`silent${index}.test`)
  const results = await queryAll('good.test')
  assert.deepEqual(results, [{ values: [] }, { values: [] }, { values: ['found'] }])
})
