import assert from 'node:assert/strict'
import { beforeEach, describe, test } from 'node:test'
import type { RequestCodeResponse } from '../../protocol/api/account.schema.ts'
import { assertWaits, HOUR_MS, startApi } from './api.ts'
import type { ApiResponse } from './api-response.ts'
import { mailsTo, newEmail } from './sign-in-mails.ts'

// Attacks on the sign-in of an email owner by other clients: docs/decisions/017-sign-in-attempts.md.

const WRONG = 'ABCD-EFGH'
const [HOME, ELSEWHERE, ATTACKER] = ['192.0.2.1', '192.0.2.2', '198.51.100.1']

const api = await startApi({ TRUSTED_PROXIES: '1' })
// A new hour: the codes that one test requests are not those of the next.
beforeEach(() => api.pass(HOUR_MS))

interface From {
  address: string
  cookie?: string
}

function call(path: string, json: object, { address, cookie }: From): Promise<ApiResponse> {
  const browser = cookie === undefined ? {} : { cookie, origin: api.baseUrl }
  return api.request('POST', path, { json, headers: { 'x-forwarded-for': address, ...browser } })
}

const requestCode = (email: string, from: From) => call('/api/auth/agent/request-code', { email }, from)

async function mailed(email: string, from: From): Promise<RequestCodeResponse & { code: string }> {
  const { status, json } = await requestCode(email, from)
  assert.equal(status, 200)
  return { ...json, code: await api.running.mailedCode(email) }
}

type Try = { email: string; code: string; attempt?: string }

const verify = async (given: Try, address: string): Promise<number> =>
  (await call('/api/auth/agent/verify-code', given, { address })).status

async function verifyOften(given: Try, address: string, times: number): Promise<void> {
  for (let count = 0; count < times; count++) assert.equal(await verify(given, address), 400)
}

/** Signs in from an address, and returns the cookie of the browser. */
async function signIn(email: string, from: From): Promise<string> {
  const { code, attempt } = await mailed(email, from)
  const answer = await call('/api/auth/session', { email, code, attempt }, from)
  assert.equal(answer.status, 200)
  return answer.headers['set-cookie']![0]!.split(';')[0]!
}

async function exhaustCodes(email: string, address = ATTACKER): Promise<void> {
  for (let count = 0; count < 10 && (await requestCode(email, { address })).status === 200; count++);
  assert.equal((await requestCode(email, { address })).status, 429)
}

const countLockNotices = async (email: string) =>
  (await mailsTo(api, email)).filter((letter) => /paused/.test(letter)).length

test('a code that a page of the service requested is of no use without the attempt, from any client', async () => {
  const email = newEmail()
  const page = { address: HOME, cookie: 'a=b' }
  const { code, attempt } = await mailed(email, page)
  const other = await mailed(email, { address: ELSEWHERE })
  for (const given of [{}, { attempt: other.attempt }])
    for (const address of [HOME, ATTACKER])
      assert.equal(await verify({ email, code, ...given }, address), 400)
  assert.equal((await call('/api/auth/session', { email, code }, page)).status, 400)
  assert.equal((await call('/api/auth/session', { email, code, attempt }, page)).status, 200)
  assert.equal(await verify({ email, code: other.code }, ATTACKER), 200)
})

describe('an attacker who requests all codes of an hour', () => {
  test('does not lock out the owner on a network that signed in before', async () => {
    const email = newEmail()
    await signIn(email, { address: HOME })
    await exhaustCodes(email)
    assert.equal((await requestCode(email, { address: ELSEWHERE })).status, 429)
    await signIn(email, { address: HOME })
    await assertWaits(api, () => api.anonymous.requestCode(email))
  })

  test('does not lock out a browser that signed in before, on any network, signed in or not', async () => {
    const email = newEmail()
    const first = await requestCode(email, { address: HOME, cookie: 'a=b' })
    const browser = first.headers['set-cookie']![0]!.split(';')[0]!
    assert.match(
      first.headers['set-cookie']![0]!,
      /^__Host-slipway-browser=[\w-]{43}; Path=\/; Secure; HttpOnly/,
    )
    const session = await signIn(email, { address: HOME, cookie: browser })
    await exhaustCodes(email)
    for (const cookie of [browser, session, `${browser}; ${session}`])
      await signIn(email, { address: ELSEWHERE, cookie })
    assert.equal((await requestCode(email, { address: ATTACKER, cookie: `${browser}x` })).status, 429)
  })

  test('causes at most five mails an hour, from any number of networks and in any spelling of the mailbox', async () => {
    const [tagged, fullwidth] = [newEmail(), newEmail()].map((email) => email.split('@')[0]!)
    for (const spellings of [
      [
        ...[`${tagged}@gmail.com`, `${tagged}+1@gmail.com`, `${tagged}+2+3@googlemail.com`],
        ...[`${[...tagged!].join('.')}@gmail.com`, `${tagged!.toUpperCase()}+x@GMAIL.com`],
      ],
      ['ｅxample.org', 'example。org', 'example.ᵒʳg', 'EXAMPLE.ＯＲＧ', 'example.org'].map(
        (domain) => `${fullwidth}@${domain}`,
      ),
    ])
      for (const [index, email] of [...spellings, ...spellings].entries())
        assert.equal(
          (await requestCode(email, { address: `203.0.113.${index}` })).status,
          index < 5 ? 200 : 429,
          email,
        )
    api.pass(HOUR_MS)
    assert.equal((await requestCode(`${tagged}@gmail.com`, { address: HOME })).status, 200)
  })

  test('shares no limit between addresses that differ at their provider', async () => {
    const local = newEmail().split('@')[0]!
    for (const email of [
      `${local}@one.test`,
      `${local}.x@one.test`,
      `${local}x@one.test`,
      `+${local}@one.test`,
    ])
      for (let count = 0; count < 5; count++)
        assert.equal((await requestCode(email, { address: HOME })).status, 200, email)
  })
})

describe('an attacker who enters wrong codes', () => {
  test('does not invalidate the code of the owner, not even from the same network', async () => {
    const email = newEmail()
    const { code, attempt } = await mailed(email, { address: HOME })
    const theirs = await mailed(email, { address: ATTACKER })
    for (const address of [HOME, ATTACKER]) await verifyOften({ email, code: WRONG }, address, 6)
    await verifyOften({ email, code: WRONG, attempt: theirs.attempt }, ATTACKER, 6)
    assert.equal(await verify({ email, code }, HOME), 400, 'without the attempt it counts like theirs')
    assert.equal(await verify({ email, code, attempt }, HOME), 200)
  })

  test('does not invalidate a code that the owner enters without an attempt', async () => {
    const email = newEmail()
    const { code } = await mailed(email, { address: HOME })
    await verifyOften({ email, code: WRONG }, ATTACKER, 20)
    assert.equal(await verify({ email, code }, ELSEWHERE), 200)
  })

  test('ends only its own attempt with the fifth one, in every operation', async () => {
    const email = newEmail()
    const { code, attempt } = await mailed(email, { address: ATTACKER })
    await verifyOften({ email, code: WRONG, attempt }, ATTACKER, 5)
    await verifyOften({ email, code, attempt }, ATTACKER, 1)
    await verifyOften({ email, code }, ATTACKER, 1)
    await verifyOften({ email, code }, ELSEWHERE, 1)
  })

  test('is locked out after a hundred, and the owner is not', async () => {
    const email = newEmail()
    await signIn(email, { address: HOME })
    const { code, attempt } = await mailed(email, { address: ELSEWHERE })
    await verifyOften({ email, code: WRONG }, ATTACKER, 100)
    await verifyOften({ email, code }, ATTACKER, 1)
    assert.equal(await verify({ email, code, attempt }, ELSEWHERE), 200)
    await signIn(email, { address: HOME })
    const letters = (await mailsTo(api, email)).length
    await requestCode(email, { address: ATTACKER })
    assert.equal((await mailsTo(api, email)).length, letters, 'no code is sent to an address that is locked')
  })

  test('locks out all unknown networks after three hundred from several ones, but none that signed in before', async () => {
    const email = newEmail()
    await signIn(email, { address: HOME })
    const { code, attempt } = await mailed(email, { address: ELSEWHERE })
    for (let network = 0; network < 4; network++)
      await verifyOften({ email, code: WRONG }, `203.0.113.${network}`, 75)
    assert.equal(await countLockNotices(email), 1)
    await verifyOften({ email, code }, '203.0.113.99', 1)
    assert.equal(await verify({ email, code, attempt }, ELSEWHERE), 200, 'a code under way is still good')
    await signIn(email, { address: HOME })
    const letters = (await mailsTo(api, email)).length
    await requestCode(email, { address: '203.0.113.99' })
    assert.equal((await mailsTo(api, email)).length, letters)
  })

  test('locks out networks that signed in before one by one, with one email an hour, and no others', async () => {
    const email = newEmail()
    const known = Array.from({ length: 3 }, (_, number) => `203.0.113.${100 + number}`)
    for (const address of known) await signIn(email, { address })
    const { code } = await mailed(email, { address: ELSEWHERE })
    for (const address of known) {
      await verifyOften({ email, code: WRONG }, address, 100)
      await verifyOften({ email, code }, address, 1)
    }
    assert.equal(await countLockNotices(email), 1)
    assert.equal(await verify({ email, code }, ELSEWHERE), 200)
  })
})
