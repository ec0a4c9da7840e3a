import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { Api, DAY_MS, expectFailure } from './api.ts'
import { codeFor, lettersTo, somebody } from './sign-in-letters.ts'

let api: Api
before(async () => {
  api = await Api.start()
})
after(() => api[Symbol.asyncDispose]())

describe('a hundred wrong tries in a row', () => {
  /** So many wrong tries, over as many codes and callers as one likes. */
  async function tryInVain(email: string, times: number): Promise<void> {
    for (let round = 0; round < times; round++) {
      const asked =
        round % 2 ? api.anonymous.verifyCode(email, 'ABCD-EFGH') : api.anonymous.signIn(email, 'x')
      await expectFailure(asked, 'INVALID_CODE')
    }
  }

  test('lock sign-in for 24 hours, tell the owner, and leave the key alone', async () => {
    const { email, client } = await api.account()
    await codeFor(api, email)
    await tryInVain(email, 50)
    await codeFor(api, email)
    await tryInVain(email, 49)
    const code = await codeFor(api, email)
    const letters = (await lettersTo(api, email)).length
    await tryInVain(email, 1)

    const [notice, ...others] = (await lettersTo(api, email)).slice(letters)
    assert.equal(others.length, 0)
    assert.match(notice!, /paused/)
    assert.match(notice!, /24 hours/)
    await expectFailure(api.anonymous.verifyCode(email, code), 'INVALID_CODE')
    assert.equal((await api.anonymous.requestCode(email)).email, email)
    assert.equal((await lettersTo(api, email)).length, letters + 1, 'no code is mailed meanwhile')
    assert.equal((await client.me()).email, email)

    api.pass(DAY_MS - 1)
    await api.anonymous.requestCode(email)
    assert.equal((await lettersTo(api, email)).length, letters + 1)
    api.pass(1)
    const opened = await codeFor(api, email)
    await expectFailure(api.anonymous.verifyCode(email, 'ABCD-EFGH'), 'INVALID_CODE')
    await api.anonymous.verifyCode(email, opened)
  })

  test('are counted anew after a right one', async () => {
    const email = somebody()
    await codeFor(api, email)
    await tryInVain(email, 99)
    await api.anonymous.verifyCode(email, await codeFor(api, email))
    await codeFor(api, email)
    await tryInVain(email, 99)
    await api.anonymous.verifyCode(email, await codeFor(api, email))
  })

  test('lock nobody who never asked for a code', async () => {
    const email = somebody()
    await tryInVain(email, 101)
    assert.deepEqual(await lettersTo(api, email), [])
    await api.anonymous.verifyCode(email, await codeFor(api, email))
  })
})
