import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { AttemptLimiter } from '../../server/edge/password/attempt-limiter.ts'
import { noise } from '../edge/fixture.ts'
import { startForAllTests } from '../support/started-fixture.ts'
import { waitFor } from '../support/wait-for.ts'
import { Api, blobFolder, MINUTE_MS } from './api.ts'

// Attacks of one client on the service: each of these once exhausted a resource or got unauthorized access.

const api = startForAllTests(() => Api.start())

test('unknown keys and sessions of one network have a limit, and known ones and other networks are not affected', async () => {
  await using guessed = await Api.start({ RATE_ANONYMOUS: '1000', TRUSTED_PROXIES: '1' })
  const [one, other] = [await guessed.account(), await guessed.account()]
  const read = async (address: string, credential: { key?: string; headers?: Record<string, string> }) => {
    const headers = { 'x-forwarded-for': address, ...credential.headers }
    return (await guessed.request('GET', '/api/v1/me', { ...credential, headers })).status
  }
  assert.equal(await read('192.0.2.1', one), 200)
  const guesses: number[] = []
  for (let number = 100; number < 220; number++) {
    const text = `${number}`.repeat(15).slice(2)
    const session = { headers: { cookie: `__Host-slipway=${text}` } }
    guesses.push(await read('192.0.2.1', number % 2 === 0 ? { key: `sl_live_${text}` } : session))
  }
  assert.deepEqual(
    [guesses.filter((status) => status === 401).length, guesses.filter((status) => status === 503).length],
    [100, 20],
  )
  assert.deepEqual([await read('192.0.2.1', one), await read('192.0.2.2', other)], [200, 200])
  await one.client.deleteAccount(one.email)
  assert.deepEqual([await read('192.0.2.1', one), await read('192.0.2.1', one)], [401, 503], 'ended')
})

for (const [what, form] of [
  ['refresh tokens', 'grant_type=refresh_token&client_id=x&refresh_token='],
  [
    'device codes',
    'grant_type=urn:ietf:params:oauth:grant-type:device_code&client_id=slipway-cli&device_code=',
  ],
])
  test(`unknown ${what} of one network are looked up as often as unknown keys`, async () => {
    await using guessed = await Api.start({ RATE_ANONYMOUS: '1', RATE_SIGN_IN: '1' })
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const statuses: number[] = []
    for (let number = 0; number < 110; number++)
      statuses.push(
        (await guessed.request('POST', '/oauth/token', { headers, body: `${form}${number}` })).status,
      )
    assert.equal(statuses.filter((status) => status === 503).length, 10, statuses.join())
  })

for (const path of ['files/b.bin', 'archive'])
  test(`a client that disconnects at any stage of a download of ${path} leaves no file open`, async (t) => {
    if (!existsSync('/proc/self/fd')) return t.skip('open files cannot be counted here')
    const { client, key } = await api.account()
    const { slug } = await api.publish(client, { 'a.bin': noise(1000), 'b.bin': noise(300_000) })
    const head = `GET /api/v1/publish/${slug}/${path} HTTP/1.1\r\nHost: localhost\r\n`
    for (let turns = 0; turns < 80; turns += 2) {
      const socket = await send(`${head}Authorization: Bearer ${key}\r\n\r\n`)
      for (let left = turns; left > 0; left--) await turn()
      socket.destroy()
    }
    await waitFor(() => openBlobs() === 0)
  })

test('a change of metadata is read although each of its characters is escaped', async () => {
  const { key, client } = await api.account()
  const { slug } = await api.publish(client, { 'a.txt': 'a' })
  const [title, description, password] = [200, 500, 200].map((length) => '\u{1f600}'.repeat(length))
  const change = JSON.stringify({ title, description, password })
  const body = change.replace(/[\ud800-\udfff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16)}`)
  const headers = { 'content-type': 'application/json' }
  const target = `/api/v1/publish/${slug}/metadata`
  const { status, json } = await api.request('PATCH', target, { key, headers, body })
  assert.deepEqual([status, json.description], [200, description])
})

test('pipelined requests on one connection open one large file at a time', async (t) => {
  if (!existsSync('/proc/self/fd')) return t.skip('open files cannot be counted here')
  const bytes = noise(400_000)
  const { slug } = await api.publish(api.anonymous, { 'big.bin': bytes })
  const host = `Host: ${slug}.localhost:${api.port}\r\n`
  const get = `GET /big.bin HTTP/1.1\r\n${host}`
  const socket = await send(`${`${get}\r\n`.repeat(99)}${get}Connection: close\r\n\r\n`)
  let most = 0
  let came = 0
  let chunks = 0
  socket.on('data', (chunk: Buffer) => {
    if (chunks++ % 10 === 0) most = Math.max(most, openBlobs())
    came += chunk.length
  })
  socket.resume()
  await once(socket, 'close')
  assert.ok(came > 100 * bytes.length)
  assert.ok(most > 0 && most < 5, `${most} were open`)
})

test('correct passwords are rate limited, too, because they cost the same work', async () => {
  const operator = await api.operator()
  const guesses = new AttemptLimiter({
    store: operator.store,
    clock: () => api.clock.now,
    secret: 'a secret',
  })
  const guess = async (address: string) => {
    const leave = await guesses.begin(address, 'a-site')
    if ('windows' in leave) await guesses.reset(leave)
    return 'windows' in leave
  }
  for (let times = 0; times < 60; times++) assert.ok(await guess('192.0.2.1'))
  assert.equal(await guess('192.0.2.1'), false)
  assert.equal(await guess('192.0.2.2'), true)
  api.pass(MINUTE_MS)
  assert.equal(await guess('192.0.2.1'), true)
  for (const name of readdirSync(api.data).filter((file) => file.startsWith('slipway.db')))
    assert.equal(readFileSync(join(api.data, name)).includes('192.0.2.1'), false, 'the address is stored')
})

/** Sends these bytes and leaves the connection open without reading. */
function send(bytes: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port: api.port, host: '127.0.0.1' }, () => resolve(socket))
    socket.on('error', reject)
    socket.pause()
    socket.write(bytes)
  })
}

function openBlobs(): number {
  return readdirSync('/proc/self/fd').filter((descriptor) => {
    try {
      return readlinkSync(`/proc/self/fd/${descriptor}`).startsWith(blobFolder(api))
    } catch {
      return false
    }
  }).length
}
