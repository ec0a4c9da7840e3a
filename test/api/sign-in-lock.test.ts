import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { Api, DAY_MS, expectFailure } from './api.ts'
import { codeFor, mailsTo, newEmail } from './sign-in-mails.ts'

let api: Api
before(async () => {
  api = await Api.start()
})
after(() => api[Symbol.asyncDispose]())

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
    assert.equal((await mailsTo(api, email)).length, letters + 1, 'no code is mailed during the lock')
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
    await sendWrongCodes(email, 99)
    await api.anonymous.verifyCode(email, await codeFor(api, email))
  })

  test('do not lock an email without a requested code', async () => {
    const email = newEmail()
    await sendWrongCodes(email, 101)
    assert.deepEqual(await mailsTo(api, email), [])
    await api.anonymous.verifyCode(email, await codeFor(api, email))
  })
})
