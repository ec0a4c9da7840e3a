import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { keyRow } from '../store/rows.ts'
import { dumpDatabase } from '../support/engines.ts'
import { DAY_MS, expectFailure, MINUTE_MS, startApi } from './api.ts'
import { assertInvalid } from './api-response.ts'
import { browser } from './browser.ts'
import { sha256 } from './content.ts'
import { codeFor, mailsTo, newEmail } from './sign-in-mails.ts'

const KEY = /^sl_live_[0-9a-f]{32}$/

const api = await startApi()

/** Another code of the same form. */
function wrong(code: string): string {
  return (code[0] === 'A' ? 'B' : 'A') + code.slice(1)
}

async function namedKey(email: string, keyName: string) {
  return api.anonymous.verifyCode(email, await codeFor(api, email), undefined, keyName)
}

describe('requesting a code', () => {
  test('has the same response with and without an account', async () => {
    const { email: known } = await api.account()
    const unknown = newEmail()
    const [one, other] = await Promise.all(
      [known, unknown].map((email) =>
        api.request('POST', '/api/auth/agent/request-code', { json: { email } }),
      ),
    )
    const opaque = { email: '', attempt: '' }
    assert.deepEqual({ ...one!.json, ...opaque }, { ...other!.json, ...opaque })
    assert.equal(one!.json.attempt.length, other!.json.attempt.length)
    assert.deepEqual(Object.keys(one!.headers).sort(), Object.keys(other!.headers).sort())
  })

  const invalid = [
    ...['', ' ', 'no-at-sign', '@example.org', 'a@', 'a@b', 'a b@example.org', 'a@exa mple.org'],
    ...['a@b..example', 'a@example.org.', '.a@example.org', 'a.@example.org', 'a..b@example.org'],
    ...['<a@example.org>', 'a@example.org\r\nBcc: b@example.org', 'a@example.org, b@example.org'],
    ...[
      'a@b@example.org',
      'a@example.com%0a',
      'a@example.com.',
      'a@-example.org',
      'a@192.0.2.1',
      `${'a'.repeat(250)}@example.org`,
      undefined,
      null,
      5,
      ['a@example.org'],
      { a: 1 },
    ],
  ]
  test('is refused for what is not an address, and names invisible characters', async () => {
    for (const email of invalid)
      assertInvalid(await api.request('POST', '/api/auth/agent/request-code', { json: { email } }), 'email')
    for (const character of ['\u0007', '\u202e', '\u2066', '\u200b', '\u007f', '\u034f', '\u3164', '\ufe0f'])
      for (const email of [`a${character}b@example.org`, `a@exa${character}mple.org`]) {
        const { message } = await expectFailure(api.anonymous.requestCode(email), 'VALIDATION_ERROR')
        assert.match(message, /email: must not contain control characters, invisible characters or text-dir/)
      }
  })
})

describe('a code', () => {
  test('is exchanged for a key, which is shown once', async () => {
    const email = newEmail()
    const { message, apiKey, warning, ...rest } = await api.anonymous.verifyCode(
      email,
      await codeFor(api, email),
    )
    assert.deepEqual(rest, { email, plan: 'free', isNewUser: true })
    assert.match(apiKey, KEY)
    assert.match(warning, /once/)
    assert.ok(message.length > 0)
    const again = await api.anonymous.verifyCode(email, await codeFor(api, email))
    assert.equal(again.isNewUser, false)
  })

  test('and its address can be written in any notation', async () => {
    const notations = [
      (code: string) => code.toLowerCase().replace('-', ''),
      (code: string) => code.replace(/./g, (one) => String.fromCodePoint(one.charCodeAt(0) + 0xfee0)),
      (code: string) => `  ${code} `,
      (code: string) => code.replace('-', ' '),
    ]
    for (const write of notations) {
      const email = newEmail()
      await api.anonymous.requestCode(` ${email.toUpperCase()}`)
      const code = write(await api.running.mailedCode(email))
      assert.equal((await api.anonymous.verifyCode(` ${email} `, code)).email, email)
    }
  })

  test('is valid for ten minutes', async () => {
    const email = newEmail()
    const code = await codeFor(api, email)
    api.pass(10 * MINUTE_MS - 1)
    await api.anonymous.verifyCode(email, code)
    const late = await codeFor(api, email)
    api.pass(10 * MINUTE_MS)
    await expectFailure(api.anonymous.verifyCode(email, late), 'INVALID_CODE')
  })

  test('stays valid next to a new one, and each works once, for its address only', async () => {
    const [email, other] = [newEmail(), newEmail()]
    const [first, second] = [await codeFor(api, email), await codeFor(api, email)]
    await api.anonymous.requestCode(other)
    await expectFailure(api.anonymous.verifyCode(other, first), 'INVALID_CODE')
    for (const code of [second, first]) {
      await api.anonymous.verifyCode(email, code)
      await expectFailure(api.anonymous.verifyCode(email, code), 'INVALID_CODE')
    }
  })
})

test('the response to every wrong code is the same', async () => {
  const [other, used, expired, ended] = [newEmail(), newEmail(), newEmail(), newEmail()]
  const expiredCode = await codeFor(api, expired)
  api.pass(10 * MINUTE_MS)
  const { attempt } = await api.anonymous.requestCode(other)
  const otherCode = await api.running.mailedCode(other)
  const usedCode = await codeFor(api, used)
  await api.anonymous.verifyCode(used, usedCode)
  const endedCode = await codeFor(api, ended)
  for (let round = 0; round < 5; round++)
    await expectFailure(api.anonymous.verifyCode(ended, wrong(endedCode)), 'INVALID_CODE')
  const answers = []
  for (const [how, email, code, given] of [
    ['never requested', newEmail(), 'ABCD-EFGH'],
    ['empty', newEmail(), ''],
    ['another one', other, wrong(otherCode)],
    ['of an unknown attempt', other, wrong(otherCode), 'never'],
    ['of the attempt of another address', newEmail(), otherCode, attempt],
    ['used', used, usedCode],
    ['expired', expired, expiredCode],
    ['ended by wrong tries', ended, endedCode],
  ] as const)
    for (const path of ['/api/auth/agent/verify-code', '/api/auth/session']) {
      const { json, text, headers } = await api.request('POST', path, {
        json: { email, code, attempt: given },
      })
      assert.deepEqual([json.code, headers['set-cookie']], ['INVALID_CODE', undefined], how)
      answers.push([text, Object.keys(headers).sort().join()])
    }
  for (const answer of answers) assert.deepEqual(answer, answers[0])
})

describe('a key', () => {
  test('is invalidated when its owner signs in again', async () => {
    const first = await api.account()
    const second = await api.account(first.email)
    await expectFailure(first.client.me(), 'UNAUTHORIZED')
    assert.equal((await second.client.me()).email, first.email)
  })

  test('with a name leaves every other key valid, and ends only an earlier one of its name', async () => {
    const own = await api.account()
    const { apiKey, warning, keyName } = await namedKey(own.email, ' ann@desk ')
    assert.match(apiKey, KEY)
    assert.match(warning, /same name/)
    assert.equal(keyName, 'ann@desk')
    const laptop = api.client((await namedKey(own.email, 'ann@laptop')).apiKey)
    const again = api.client((await namedKey(own.email, 'ann@desk')).apiKey)
    await expectFailure(api.client(apiKey).me(), 'UNAUTHORIZED')
    const noUnnamed = api.client((await namedKey('named-only@example.test', 'ci')).apiKey)
    assert.equal((await noUnnamed.me()).hasKey, true)
    for (const client of [own.client, laptop, again]) assert.equal((await client.me()).email, own.email)
    await own.client.newKey()
    await laptop.endKey()
    await expectFailure(laptop.me(), 'UNAUTHORIZED')
    assert.equal((await again.me()).hasKey, true)
    const site = await api.publish(again, { 'index.html': 'by a named key' })
    assert.equal((await again.details(site.slug)).slug, site.slug)
    await again.deleteAccount(own.email)
    await expectFailure(again.me(), 'UNAUTHORIZED')
  })

  test('can end itself without a name too, but a session has none to end', async () => {
    const own = await api.account()
    const session = await browser(api, own)
    const answer = await api.request('DELETE', '/api/v1/me/key', { headers: session.headers })
    assert.equal(answer.json.code, 'UNAUTHORIZED')
    await own.client.endKey()
    await expectFailure(own.client.me(), 'UNAUTHORIZED')
  })

  test('with a name is refused beyond fifty, and the code stays valid', async () => {
    const own = await api.account()
    const { store } = await api.operator()
    const { id } = (await store.read.accounts.byEmail(own.email))!
    await store.write('durable', {}, async (tx) => {
      for (let number = 1; number <= 50; number++)
        await tx.rows.insert(
          'named_keys',
          keyRow(sha256(`${own.email} ${number}`), { accountId: id, name: `machine ${number}` }),
        )
    })
    const code = await codeFor(api, own.email)
    const refused = api.anonymous.verifyCode(own.email, code, undefined, 'one more')
    const { message } = await expectFailure(refused, 'KEY_LIMIT_REACHED')
    assert.match(message, /50 named keys/)
    for (const keyName of ['', ' ', 'a\u0007b', 'x'.repeat(65)])
      await expectFailure(api.anonymous.verifyCode(own.email, code, undefined, keyName), 'VALIDATION_ERROR')
    const { apiKey } = await api.anonymous.verifyCode(own.email, code, undefined, 'machine 1')
    await api.client(apiKey).me()
  })

  test('is required, with its scheme in any case: anything else is UNAUTHORIZED', async () => {
    const { key } = await api.account()
    const codeOf = async (authorization: string) =>
      (await api.request('GET', '/api/v1/me', { headers: { authorization } })).json.code
    for (const scheme of ['Bearer', 'bearer', 'BEARER'])
      assert.equal(await codeOf(`${scheme} ${key}`), undefined)
    const other = key.slice(0, -1) + (key.endsWith('0') ? '1' : '0')
    for (const rest of ['', ' ', ' x', ` ${other}`, ` ${key.toUpperCase()}`])
      assert.equal(await codeOf(`Bearer${rest}`), 'UNAUTHORIZED', rest)
    for (const authorization of ['', 'Basic YTpi'])
      assert.equal(await codeOf(authorization), 'UNAUTHORIZED', authorization)
  })
})

test('keys, codes, claim tokens and sessions are stored as hashes only', async () => {
  const { email, key, client } = await api.account()
  const code = await codeFor(api, email)
  const session = await api.request('POST', '/api/auth/session', { json: { email, code } })
  const [cookie] = session.headers['set-cookie']!
  const token = /=([^;]+)/.exec(cookie!)![1]!
  const unused = await codeFor(api, email)
  const { claimToken } = await api.publish(api.anonymous, { 'index.html': 'hello' })
  await client.setMetadata((await api.publish(client, { 'index.html': 'x' })).slug, {
    password: 'open sesame',
  })
  const kept = await dumpDatabase(api.data)
  const logged = JSON.stringify(api.running.log)
  for (const secret of [key, token, claimToken!, 'open sesame']) {
    for (const text of [kept, logged]) assert.equal(text.includes(secret), false, secret)
  }
  for (const one of [unused, code]) assert.equal(kept.includes(one), false, 'a code')
})

describe('a hundred wrong attempts in a row', () => {
  /** Sends `count` wrong codes, with new codes and from new addresses as needed. */
  async function sendWrongCodes(email: string, times: number): Promise<void> {
    for (let round = 0; round < times; round++) {
      const attempt =
        round % 2 ? api.anonymous.verifyCode(email, 'ABCD-EFGH') : api.anonymous.signIn(email, 'x')
      await expectFailure(attempt, 'INVALID_CODE')
    }
  }

  test('lock sign-in for 24 hours, notify the owner by mail, and do not affect the key', async () => {
    const { email, client } = await api.account()
    await codeFor(api, email)
    await sendWrongCodes(email, 50)
    await codeFor(api, email)
    await sendWrongCodes(email, 49)
    const code = await codeFor(api, email)
    const letters = (await mailsTo(api, email)).length
    await sendWrongCodes(email, 1)

    const [notice, ...others] = (await mailsTo(api, email)).slice(letters)
    assert.equal(others.length, 0)
    assert.match(notice!, /paused/)
    assert.match(notice!, /24 hours/)
    await expectFailure(api.anonymous.verifyCode(email, code), 'INVALID_CODE')
    assert.equal((await api.anonymous.requestCode(email)).email, email)
    assert.equal((await mailsTo(api, email)).length, letters + 1, 'no code is sent during the lock')
    assert.equal((await client.me()).email, email)

    api.pass(DAY_MS - 1)
    await api.anonymous.requestCode(email)
    assert.equal((await mailsTo(api, email)).length, letters + 1)
    api.pass(1)
    const opened = await codeFor(api, email)
    await expectFailure(api.anonymous.verifyCode(email, 'ABCD-EFGH'), 'INVALID_CODE')
    await api.anonymous.verifyCode(email, opened)
  })

  test('are counted from zero after a correct one', async () => {
    const email = newEmail()
    await codeFor(api, email)
    await sendWrongCodes(email, 99)
    await api.anonymous.verifyCode(email, await codeFor(api, email))
    await codeFor(api, email)
    await sendWrongCodes(email, 2)
    await api.anonymous.verifyCode(email, await codeFor(api, email))
  })

  test('do not lock an email without a requested code', async () => {
    const email = newEmail()
    await sendWrongCodes(email, 101)
    assert.deepEqual(await mailsTo(api, email), [])
    await api.anonymous.verifyCode(email, await codeFor(api, email))
  })
})
