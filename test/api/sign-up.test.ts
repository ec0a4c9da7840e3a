import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { COMMAND_LINE } from '../../server/store/tables/administration.ts'
import { accountRow } from '../store/rows.ts'
import { administrator } from './administrator.ts'
import { Api, DAY_MS, expectFailure } from './api.ts'
import { mailsTo } from './sign-in-mails.ts'

/** Kinds of addresses, and which of them can create an account. */
const POLICIES: [policy: string, invited: boolean, domain: boolean, other: boolean][] = [
  ['invitation', true, false, false],
  ['domains:staff.test,example.org', true, true, false],
  ['closed', false, false, false],
]

const KNOWN = 'known@example.net'

/** A service with an account from before the policy, and an invited address. */
async function startWith(policy: string): Promise<Api> {
  const api = await Api.start({ SIGN_UP: policy, NAME: 'Harbor Pages', RATE_SIGN_IN: '1000000' })
  const { store } = await api.operator()
  await store.write('durable', {}, async (tx) => {
    await tx.rows.insert('accounts', accountRow('known', { email: KNOWN }))
    await tx.rows.put('invitations', {
      email: 'invited@example.net',
      invitedBy: null,
      createdAt: 1,
      expiresAt: api.clock.now + DAY_MS,
    })
  })
  return api
}

/** The subject and the text of the only email to an address. */
async function letterTo(api: Api, email: string): Promise<string> {
  const [letter, ...others] = await mailsTo(api, email)
  assert.deepEqual(others, [], email)
  return letter!
}

describe('who can create an account', () => {
  for (const [policy, invited, domain, other] of POLICIES)
    test(`${policy}: ${JSON.stringify({ invited, domain, other })}; accounts sign in, and no response tells them apart`, async () => {
      await using api = await startWith(policy)
      const expected = {
        'invited@example.net': invited,
        'a@staff.test': domain,
        'b@example.net': other,
        // Domains that have the name of the allowed one as a part.
        ...{ 'c@notstaff.test': other, 'd@sub.staff.test': other, 'e@staff.test.example.net': other },
      }
      const answers = []
      for (const [email, mayCreate] of Object.entries({ ...expected, [KNOWN]: true })) {
        const { attempt, email: _, ...answer } = await api.anonymous.requestCode(email)
        answers.push({ ...answer, attempt: attempt.length })
        assert.match(
          await letterTo(api, email),
          mayCreate ? /sign-in code/ : /No account has this email address/,
        )
        if (!mayCreate) continue
        const code = await api.running.mailedCode(email)
        const { isNewUser } = await api.anonymous.verifyCode(email, code)
        assert.equal(isNewUser, email !== KNOWN)
      }
      for (const answer of answers) assert.deepEqual(answer, answers[0])
    })

  test('a code from before an invitation ended creates no account, and stays refused', async () => {
    await using api = await startWith('invitation')
    const email = 'invited@example.net'
    await api.anonymous.requestCode(email)
    const { invitations, store } = await api.operator()
    await invitations.revoke(COMMAND_LINE, email)
    await expectFailure(
      api.anonymous.verifyCode(email, await api.running.mailedCode(email)),
      'SIGN_UP_CLOSED',
    )
    assert.equal(await store.read.accounts.byEmail(email), undefined)
  })

  test('an invitation is mailed, ends after 14 days or with the account, and is listed until then', async () => {
    await using api = await startWith('invitation')
    const { key } = await administrator(api, await api.account(KNOWN))
    const call = (method: string, path = '', json?: object) =>
      api.request(method, `/api/admin/invitations${path}`, { key, json })
    const emails = async () =>
      ((await call('GET')).json as { rows: { email: string }[] }).rows.map(({ email }) => email)
    const { status } = await call('POST', '', { email: 'New@Example.net' })
    assert.equal(status, 201)
    assert.match(await letterTo(api, 'new@example.net'), /You are invited to Harbor Pages/)
    assert.deepEqual(await emails(), ['invited@example.net', 'new@example.net'])
    assert.equal((await call('POST', '', { email: KNOWN })).status, 400)
    await api.account('invited@example.net')
    assert.deepEqual(await emails(), ['new@example.net'])
    assert.equal((await call('DELETE', '/new@example.net')).status, 200)
    assert.equal((await call('DELETE', '/new%40example.net')).status, 404)
    const logged = api.running.log.filter(({ method }) => method === 'DELETE').map(({ path }) => path)
    const masked = '/api/admin/invitations/n...@example.net'
    assert.deepEqual(logged, [masked, masked])
    await call('POST', '', { email: 'late@example.net' })
    api.pass(13.9 * DAY_MS)
    assert.deepEqual(await emails(), ['late@example.net'])
    api.pass(0.1 * DAY_MS)
    assert.deepEqual(await emails(), [])
    await api.sweep('sign-ins')
    const { store } = await api.operator()
    assert.deepEqual(await store.read.invitations.list(0, { after: '', limit: 9 }), [])
  })

  test('while sign-up is closed, no invitation can be sent', async () => {
    await using api = await startWith('closed')
    const { invitations } = await api.operator()
    await assert.rejects(invitations.invite(COMMAND_LINE, 'a@example.net'), /sign-up is closed/)
  })
})

test('without anonymous publishing a new site needs an account', async () => {
  const contents = { 'index.html': 'a page' }
  await using api = await Api.start({ ANONYMOUS: 'off' })
  const owner = await api.account()
  for (const publish of [
    () => api.publish(api.anonymous, contents),
    () => api.anonymous.publishContents({ files: [{ path: 'index.html', content: 'a page' }] }),
  ]) {
    const { status, message } = await expectFailure(publish(), 'UNAUTHORIZED')
    assert.equal(status, 401)
    assert.match(message, /publishes sites of accounts only\. Sign in/)
  }
  await api.publish(owner.client, contents)
})
