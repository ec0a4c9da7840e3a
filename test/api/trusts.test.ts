import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { UnsecuredJWT } from 'jose'
import type { CreateTrustRequest, TrustRules } from '../../protocol/api/trusts.schema.ts'
import type { Forge } from '../../protocol/api/trusts.ts'
import { readJob } from '../../server/accounts/trusts/job.ts'
import { GITHUB_TOKENS, type RecordedToken } from '../recorded/github.ts'
import { GITLAB_TOKENS } from '../recorded/gitlab.ts'
import { pluck } from '../support/pluck.ts'
import { OidcIssuer, sharedIssuer } from '../tools/oidc-issuer.ts'
import { Api, DAY_MS, expectFailure, HOUR_MS, MINUTE_MS, startApi } from './api.ts'
import { assertInvalid } from './api-response.ts'
import { toManifest } from './content.ts'
import { send } from './pending-version.ts'
import { GITHUB_CLAIMS, githubClaims, jobToken } from './trusted-job.ts'

const issuer = await sharedIssuer()
const api = await startApi({ OIDC_ISSUERS: `github=${issuer.url}` })
const home = { 'index.html': 'home' }

/** An account with a site that trusts `ann/bakery`. */
async function trusting(change: Partial<CreateTrustRequest> = {}) {
  const account = await api.account()
  const { slug } = await api.publish(account.client, home)
  const request = {
    forge: 'github',
    repository: 'ann/bakery',
    site: slug,
    branch: 'main',
    ...change,
  } as const
  return { ...account, slug, request, trust: await account.client.createTrust(request) }
}

function exchange(claims: object, site: string) {
  return jobToken(api, issuer, claims).then((token) => api.anonymous.exchangeIdToken({ token, site }))
}

describe('a job of a trusted repository', () => {
  test('gets a key of one hour that publishes to its site and to no other', async () => {
    const { client, slug, trust } = await trusting()
    const { slug: other } = await api.publish(client, home)
    const { apiKey, ...exchanged } = await exchange(GITHUB_CLAIMS, slug)
    const expiresAt = new Date(api.clock.now + HOUR_MS).toISOString()
    assert.deepEqual(exchanged, { site: slug, scope: 'publish', expiresAt })
    const job = api.client(apiKey)
    await api.publish(job, { 'index.html': 'by a job' }, { slug })
    await expectFailure(api.publish(job, home, { slug: other }), 'INSUFFICIENT_SCOPE')
    await expectFailure(job.delete(slug), 'INSUFFICIENT_SCOPE')
    assert.deepEqual((await client.keys()).keys, [])
    const [used] = (await client.trusts()).trusts
    assert.equal(used?.repositoryId, '700123456')
    assert.notEqual(used?.lastUsedAt, null)
    const { upload } = await job.update(slug, { files: toManifest({ 'index.html': 'large' }) })
    api.pass(HOUR_MS - 1000)
    assert.equal((await send(api, upload.uploads[0]!, 'large')).status, 200)
    assert.equal((await job.finalize(slug, { versionId: upload.versionId })).status, 'active')
    api.pass(1000)
    await expectFailure(job.details(slug), 'UNAUTHORIZED')
    const { apiKey: next } = await exchange(GITHUB_CLAIMS, slug)
    assert.deepEqual(await client.removeTrust(trust.id), { id: trust.id, removed: true })
    await expectFailure(api.client(next).details(slug), 'UNAUTHORIZED')
    await expectFailure(exchange(GITHUB_CLAIMS, slug), 'NOT_TRUSTED')
  })

  test('can use its token once, also in the time in which it is accepted after its end', async () => {
    const { slug: site } = await trusting()
    const token = await jobToken(api, issuer)
    const send = () => api.anonymous.exchangeIdToken({ token, site })
    const late = await jobToken(api, issuer)
    await send()
    api.pass(5 * MINUTE_MS + 29_000)
    await api.anonymous.exchangeIdToken({ token: late, site })
    await api.sweep('sign-ins')
    assert.match((await expectFailure(send(), 'INVALID_ID_TOKEN')).message, /used before/)
    api.pass(1000)
    assert.match((await expectFailure(send(), 'INVALID_ID_TOKEN')).message, /has expired/)
  })

  test('can use its token once, also with concurrent requests, until the sweep forgets expired ones', async () => {
    const { slug: site } = await trusting()
    const token = await jobToken(api, issuer)
    const exchanges = Array.from({ length: 5 }, () => api.anonymous.exchangeIdToken({ token, site }))
    const outcomes = await Promise.allSettled(exchanges)
    assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1)
    const { store, trusts } = await api.operator()
    const job = readJob('github', GITHUB_CLAIMS)!
    const idToken = { issuer: issuer.url, job, hash: 'used twice', expiresAt: api.clock.now + MINUTE_MS }
    const bothCharged = Promise.withResolvers<void>()
    let charges = 0
    const issue = () =>
      trusts.issueKey(idToken, site, async () => {
        if (++charges === 2) bothCharged.resolve()
        await bothCharged.promise
      })
    const keys = await Promise.allSettled([issue(), issue()])
    assert.deepEqual(keys.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
    api.pass(10 * MINUTE_MS)
    await api.sweep('sign-ins')
    const deleteExpired = () =>
      store.execute('relaxed', (tx) => tx.rows.removeBefore('used_tokens', api.clock.now + 1, 9))
    assert.equal(await deleteExpired(), 0)
  })

  test('needs the site when another account trusts its repository for other jobs, until that account is deleted', async () => {
    const repository = 'ann/also-trusted'
    const claims = { ...GITHUB_CLAIMS, repository, repository_id: '2', ref: 'refs/heads/feature' }
    const [mine, foreign] = [await trusting({ repository }), await trusting({ repository, branch: '*' })]
    const without = async (change?: object) => {
      const token = await jobToken(api, issuer, { ...claims, ...change })
      return api.anonymous.exchangeIdToken({ token })
    }
    await expectFailure(without(), 'VALIDATION_ERROR')
    await foreign.client.deleteAccount(foreign.email)
    await expectFailure(without(), 'NOT_TRUSTED')
    assert.equal((await without({ ref: 'refs/heads/main' })).site, mine.slug)
    const { store } = await api.operator()
    const named = { issuer: issuer.url, repository, repositoryId: '' }
    const { visitsKey } = (await store.read.sites.find(mine.slug))!
    assert.deepEqual(await store.read.trusts.listSites(named, 9), [visitsKey])
    assert.deepEqual(pluck(await store.read.trusts.find(named, visitsKey), 'id'), [mine.trust.id])
    const elsewhere = { ...named, issuer: 'https://another-forge.example' }
    assert.deepEqual(await store.read.trusts.find(elsewhere, visitsKey), [])
    assert.deepEqual(await store.read.trusts.listSites(elsewhere, 9), [])
  })

  test('needs the site when several sites trust it, and an account that may still publish to it', async () => {
    const repository = 'ann/shared'
    const claims = { ...GITHUB_CLAIMS, repository, repository_id: '3' }
    const [one, other] = [await trusting({ repository }), await trusting({ repository })]
    const without = async () => api.anonymous.exchangeIdToken({ token: await jobToken(api, issuer, claims) })
    await expectFailure(without(), 'VALIDATION_ERROR')
    assert.equal((await exchange(claims, other.slug)).site, other.slug)
    const deleted = await trusting({ repository })
    await one.client.delete(one.slug)
    await expectFailure(without(), 'VALIDATION_ERROR')
    await deleted.client.delete(deleted.slug, { permanent: true })
    assert.equal((await without()).site, other.slug)
    await one.client.undelete(one.slug)
    await one.client.addCollaborator(one.slug, other.email)
    await other.client.removeTrust(other.trust.id)
    await other.client.createTrust({ ...other.request, site: one.slug })
    await one.client.removeTrust(one.trust.id)
    assert.equal((await without()).site, one.slug)
    const { store } = await api.operator()
    const [added] = await store.read.trusts.list((await store.read.accounts.byEmail(other.email))!.id)
    await one.client.removeCollaborator(one.slug, other.email)
    await expectFailure(without(), 'NOT_TRUSTED')
    // It was added while the collaborator was removed.
    await store.execute('durable', (tx) => tx.rows.insert('trusts', added!))
    await expectFailure(without(), 'NOT_TRUSTED')
    await expectFailure(exchange(claims, 'no-such-site'), 'NOT_TRUSTED')
  })
})

const PULL = githubClaims('pull request opened')

test('exchanges count as requests of the account, and refused ones as sign-ins of the address', async () => {
  await using limited = await Api.start({
    OIDC_ISSUERS: `github=${issuer.url}`,
    ...{ RATE_SIGN_IN: '5', RATE_FREE: '12' },
  })
  const { client } = await limited.account()
  const { slug: site } = await limited.publish(client, home)
  await client.createTrust({ forge: 'github', repository: 'ann/bakery', site, branch: 'main' })
  const send = async (token: unknown) =>
    limited.request('POST', '/api/auth/oidc/exchange', { json: { token, site } })
  const signed = (claims?: object) => jobToken(limited, issuer, { ...GITHUB_CLAIMS, ...claims })
  const remaining: number[] = []
  let used = ''
  for (let count = 0; count < 6; count++) {
    used = await signed()
    const { status, headers } = await send(used)
    assert.equal(status, 200)
    remaining.push(Number(headers['x-ratelimit-remaining']))
  }
  const requestsUsed = remaining.map((left) => left - remaining.at(-1)!)
  assert.deepEqual(requestsUsed, [5, 4, 3, 2, 1, 0])
  // Signing in was two of the five.
  const refused = [await send(used), await send(7), await send(await signed({ ref: 'refs/heads/other' }))]
  const codes = refused.map(({ json }) => json.code)
  assert.deepEqual(codes, ['INVALID_ID_TOKEN', 'VALIDATION_ERROR', 'NOT_TRUSTED'])
  assert.equal((await send(await signed())).json.code, 'RATE_LIMITED')
  limited.pass(HOUR_MS)
  while ((await send(await signed())).status === 200);
  assert.equal((await client.me().catch((error) => error)).code, 'RATE_LIMITED')
})

test('a job of a pull request publishes previews, and never the live version, whatever the scope of the trust', async () => {
  const { client, slug } = await trusting({ pullRequests: true, scope: 'manage' })
  const { apiKey, scope } = await exchange({ ...GITHUB_CLAIMS, ...PULL }, slug)
  assert.equal(scope, 'preview')
  const job = api.client(apiKey)
  await api.publish(job, { 'index.html': 'by a pull request' }, { slug, preview: 'pr-42' })
  await expectFailure(api.publish(job, home, { slug }), 'INSUFFICIENT_SCOPE')
  await expectFailure(job.promote(slug, 'pr-42'), 'INSUFFICIENT_SCOPE')
  assert.equal((await client.previews(slug)).previews[0]?.name, 'pr-42')
  assert.equal((await exchange(GITHUB_CLAIMS, slug)).scope, 'manage')
  const reading = await trusting({ pullRequests: true, scope: 'read' })
  assert.equal((await exchange({ ...GITHUB_CLAIMS, ...PULL }, reading.slug)).scope, 'read')
})

describe('a trust', () => {
  const MAIN = { branch: 'main' }
  const FORK = { event_name: 'pull_request_target' }
  const WORKFLOW = { ...MAIN, workflow: 'claims.yaml' }
  const calledBy = (workflow_ref: string) => ({ workflow_ref })
  const rules: [Partial<TrustRules>, claims: object, isTrusted: boolean][] = [
    [MAIN, {}, true],
    [MAIN, { ref: 'refs/heads/main2' }, false],
    [MAIN, { ref: 'refs/tags/main' }, false],
    [MAIN, { ref: 'main' }, false],
    [MAIN, PULL, false],
    [MAIN, { ...PULL, ref: 'refs/heads/main' }, false],
    [MAIN, { ref: 'refs/heads/gh-readonly-queue/main/pr-1-a' }, false],
    [MAIN, FORK, false],
    [MAIN, { event_name: 'issue_comment' }, false],
    [MAIN, { event_name: undefined }, false],
    [MAIN, { repository: 'ann/other' }, false],
    [MAIN, { repository: undefined }, false],
    [MAIN, { repository_id: undefined }, false],
    [{ branch: 'release/*' }, { ref: 'refs/heads/release/2' }, true],
    [{ branch: 'release/*' }, { ref: 'refs/heads/main' }, false],
    [{ tag: 'v*' }, { ref: 'refs/tags/v1' }, true],
    [{ tag: 'v*' }, { ref: 'refs/heads/v1' }, false],
    [{ environment: 'production' }, { environment: 'production' }, true],
    [{ environment: 'production' }, { environment: 'Production' }, true],
    [{ environment: 'production' }, { environment: 'staging' }, false],
    [{ environment: 'production' }, {}, false],
    [{ environment: 'production' }, { ...PULL, environment: 'production' }, false],
    [{ ...MAIN, environment: 'production' }, { ref: 'refs/heads/x', environment: 'production' }, false],
    [WORKFLOW, {}, true],
    [WORKFLOW, calledBy('Ann/Bakery/.github/workflows/other.yaml@refs/heads/main'), false],
    [WORKFLOW, calledBy('ann/other/.github/workflows/claims.yaml@refs/heads/main'), false],
    [WORKFLOW, calledBy('bob/bakery/.github/workflows/claims.yaml@refs/heads/main'), false],
    [WORKFLOW, calledBy('Ann/Bakery/.github/workflows/claims.yaml@refs/x.yaml@refs/heads/main'), false],
    [WORKFLOW, { workflow_ref: undefined }, false],
    [{ ...MAIN, workflow: '.github/workflows/claims.yaml' }, {}, true],
    [{ pullRequests: true, workflow: 'other.yaml' }, PULL, false],
    [{ pullRequests: true }, PULL, true],
    [{ pullRequests: true }, {}, false],
    [{ pullRequests: true }, FORK, false],
  ]

  test('is for the branch, the tag, the environment and the pull requests that it names', async () => {
    const { client, slug, trust, request } = await trusting()
    let { id } = trust
    for (const [rule, claims, isTrusted] of rules) {
      await client.removeTrust(id)
      ;({ id } = await client.createTrust({ ...request, branch: null, ...rule }))
      const outcome = await exchange({ ...GITHUB_CLAIMS, ...claims }, slug).then(
        () => true,
        ({ code }) => {
          assert.match(code, /^(NOT_TRUSTED|INVALID_ID_TOKEN)$/)
          return false
        },
      )
      assert.equal(outcome, isTrusted, JSON.stringify([rule, claims]))
    }
  })

  test('follows its repository to another name, and then no repository that gets the former one', async () => {
    const { client, slug } = await trusting()
    await exchange(GITHUB_CLAIMS, slug)
    const renamed = { ...GITHUB_CLAIMS, repository: 'Ann/Cakes' }
    assert.equal((await exchange(renamed, slug)).scope, 'publish')
    assert.equal((await client.trusts()).trusts[0]?.repository, 'ann/cakes')
    await expectFailure(exchange({ ...GITHUB_CLAIMS, repository_id: '9' }, slug), 'NOT_TRUSTED')
    await exchange(GITHUB_CLAIMS, slug)
  })

  test('does not trust a repository that was deleted and registered again by another account', async () => {
    const { slug } = await trusting()
    const again = { ...GITHUB_CLAIMS, repository_id: '900000000' }
    await exchange(GITHUB_CLAIMS, slug)
    const { details } = await expectFailure(exchange(again, slug), 'NOT_TRUSTED')
    assert.deepEqual(details, {
      ...{ forge: 'github', repository: 'ann/bakery', repositoryId: '900000000', site: slug },
      ...{ event: 'push', branch: 'main', environment: null, workflow: '.github/workflows/claims.yaml' },
    })
    const pinned = await trusting({ repositoryId: GITHUB_CLAIMS.repository_id })
    await expectFailure(exchange(again, pinned.slug), 'NOT_TRUSTED')
    await exchange(GITHUB_CLAIMS, pinned.slug)
    const unused = await trusting()
    const lapsesAt = new Date(Date.parse(unused.trust.createdAt) + 30 * DAY_MS).toISOString()
    assert.deepEqual([unused.trust.lapsesAt, pinned.trust.lapsesAt], [lapsesAt, null])
    api.pass(30 * DAY_MS)
    const { hint } = await expectFailure(exchange(GITHUB_CLAIMS, unused.slug), 'NOT_TRUSTED')
    assert.match(hint!, /has waited 30 days for its first job, and has ended/)
    const other = exchange({ ...GITHUB_CLAIMS, ref: 'refs/heads/other' }, unused.slug)
    assert.doesNotMatch((await expectFailure(other, 'NOT_TRUSTED')).hint!, /30 days/)
    await exchange(GITHUB_CLAIMS, pinned.slug)
  })

  test('ends when its site is deleted permanently', async () => {
    const { client, slug, trust, request } = await trusting()
    const { slug: other } = await api.publish(client, home)
    const kept = await client.createTrust({ ...request, site: other })
    const ids = async () => (await client.trusts()).trusts.map(({ id }) => id).sort()
    await client.delete(slug)
    assert.deepEqual(await ids(), [trust.id, kept.id].sort(), 'the site can be restored')
    await client.delete(slug, { permanent: true })
    assert.deepEqual(await ids(), [kept.id])
  })

  test('ends when its account does not publish to the site any more', async () => {
    const { client, slug, request } = await trusting()
    const colleague = await api.account()
    await client.addCollaborator(slug, colleague.email)
    await colleague.client.createTrust({ ...request, branch: 'theirs' })
    const { client: theirs, slug: own, request: other } = await trusting()
    await theirs.addCollaborator(own, colleague.email)
    await colleague.client.createTrust(other)
    await client.removeCollaborator(slug, colleague.email)
    assert.deepEqual(pluck((await colleague.client.trusts()).trusts, 'site'), [own])
    await client.addCollaborator(slug, colleague.email)
    await expectFailure(exchange({ ...GITHUB_CLAIMS, ref: 'refs/heads/theirs' }, slug), 'NOT_TRUSTED')
  })

  test('is refused with a rule that cannot match, and beyond fifty, of which each works', async () => {
    const { request, request: valid, client, slug } = await trusting()
    const { request: send } = await api.account()
    for (const [field, change] of [
      ['forge', { forge: 'sourcehut' }],
      ['repository', { repository: 'bakery' }],
      ['repository', { repository: 'ann/bakery/site' }],
      ['repository', { repository: 'ann/ba kery' }],
      ['branch', { branch: null }],
      ['branch', { branch: 'ma*in' }],
      ['tag', { tag: ' ' }],
      ['environment', { environment: ' ' }],
      ['workflow', { workflow: '/etc/x' }],
      ['workflow', { workflow: 'a@b.yml' }],
      ['issuer', { issuer: 'https://issuer.example' }],
      ['issuer', { forge: 'gitlab' }],
      ['repositoryId', { repositoryId: 'x' }],
      ['scope', { scope: 'admin' }],
    ] as const)
      assertInvalid(await send('POST', '/api/v1/me/trusts', { json: { ...valid, ...change } }), field)
    for (let number = 1; number < 50; number++) {
      api.pass()
      await client.createTrust({ ...request, branch: `release-${number}` })
    }
    await expectFailure(client.createTrust(request), 'TRUST_LIMIT_REACHED')
    const last = await jobToken(api, issuer, { ...GITHUB_CLAIMS, ref: 'refs/heads/release-49' })
    assert.equal((await api.anonymous.exchangeIdToken({ token: last, site: slug })).site, slug)
  })
})

describe('the tokens that forges send', () => {
  /** Exchanges each token for a trust of everything in its repository: the scope, or the code and the event of the refusal. */
  async function scopesOf(forge: Forge, tokens: Record<string, RecordedToken>, rules: Partial<TrustRules>) {
    await using own = await OidcIssuer.start()
    await using service = await Api.start({ OIDC_ISSUERS: `${forge}=${own.url}` })
    const { client } = await service.account()
    const { slug: site } = await service.publish(client, home)
    const [{ claims }] = Object.values(tokens) as [RecordedToken]
    const repository = String(claims.repository ?? claims.project_path)
    await client.createTrust({ forge, repository, site, ...rules })
    const outcomes: Record<string, string> = {}
    for (const [event, { claims }] of Object.entries(tokens)) {
      const token = await jobToken(service, own, claims)
      outcomes[event] = await service.anonymous.exchangeIdToken({ token, site }).then(
        ({ scope }) => scope,
        ({ code, details }) => `${code} ${details?.event}`,
      )
    }
    return outcomes
  }

  test('by GitHub: a branch and a tag publish, what is not merged yet publishes previews, other events are named and refused', async () => {
    const all = { branch: '*', tag: '*', pullRequests: true, scope: 'publish' }
    assert.deepEqual(await scopesOf('github', GITHUB_TOKENS, all), {
      push: 'publish',
      'push of a tag': 'publish',
      'push in an environment': 'publish',
      'pull request opened': 'preview',
      'pull request synchronized': 'preview',
      'pull request merged': 'preview',
      'pull request closed': 'preview',
      'pull request of a fork, with its code at the base': 'NOT_TRUSTED pull_request_target',
      'merge queue': 'preview',
      schedule: 'publish',
      dispatch: 'publish',
      'reusable workflow': 'publish',
      release: 'publish',
      workflow_run: 'NOT_TRUSTED workflow_run',
      check_run: 'NOT_TRUSTED check_run',
      deployment_status: 'NOT_TRUSTED deployment_status',
      issue_comment: 'NOT_TRUSTED issue_comment',
      create: 'NOT_TRUSTED create',
    })
  })

  test('by GitLab: the same, and an environment counts without a branch only where it is protected', async () => {
    const all = { branch: '*', tag: '*', pullRequests: true }
    const publish = { push: 'publish', tag: 'publish', schedule: 'publish' }
    const environments = { environment: 'publish', 'protected environment': 'publish' }
    assert.deepEqual(await scopesOf('gitlab', GITLAB_TOKENS, all), {
      ...{ ...publish, ...environments, 'merge request': 'preview' },
    })
    const refused = 'NOT_TRUSTED push'
    assert.deepEqual(await scopesOf('gitlab', GITLAB_TOKENS, { environment: 'test-environment2' }), {
      ...{ push: refused, tag: refused, schedule: 'NOT_TRUSTED schedule', environment: refused },
      ...{ 'merge request': 'NOT_TRUSTED merge_request_event', 'protected environment': 'publish' },
    })
  })

  test('by GitLab: a branch is not a merge request whose source branch has its name, and a workflow is a file of the project', async () => {
    await using gitlab = await OidcIssuer.start()
    await using service = await Api.start({ OIDC_ISSUERS: `gitlab=${gitlab.url}` })
    const { client } = await service.account()
    const { slug: site } = await service.publish(client, home)
    const workflow = '.gitlab-ci.yml'
    await client.createTrust({
      ...{ forge: 'gitlab', repository: 'gitlab-org/gitlab-shell', site, branch: 'memory-limit', workflow },
    })
    const { claims } = GITLAB_TOKENS.push
    const file = (project: string) => `${new URL(gitlab.url).host}/${project}//.gitlab-ci.yml@refs/heads/a`
    const send = async (changes: object) => {
      const own = {
        ...claims,
        project_id: 42,
        ci_config_ref_uri: file('gitlab-org/gitlab-shell'),
        ...changes,
      }
      return service.anonymous.exchangeIdToken({ token: await jobToken(service, gitlab, own), site })
    }
    for (const changes of [
      { ref_path: 'refs/merge-requests/1/head' },
      { ref_path: undefined },
      { ci_config_ref_uri: file('ann/other') },
      { ci_config_ref_uri: claims.ci_config_ref_uri },
    ])
      await expectFailure(send(changes), 'NOT_TRUSTED')
    assert.equal((await send({})).site, site)
    assert.equal((await client.trusts()).trusts[0]?.repositoryId, '42')
  })
})

describe('a token', () => {
  const now = () => Math.floor(api.clock.now / 1000)
  const usual = () => ({ issuedAt: now(), audience: api.baseUrl })
  const tokens: Record<string, () => Promise<string>> = {
    'of another audience': () => issuer.sign(GITHUB_CLAIMS, { ...usual(), audience: 'https://pypi.example' }),
    'that has expired': () => issuer.sign(GITHUB_CLAIMS, { ...usual(), issuedAt: now() - 400 }),
    'that never expires, after a day': () =>
      issuer.sign(GITHUB_CLAIMS, { ...usual(), issuedAt: now() - 86_431, lifetimeSeconds: 1e12 }),
    'without an identifier': () => issuer.sign({ ...GITHUB_CLAIMS, jti: '' }, usual()),
    'of an unknown issuer': () => issuer.sign({ ...GITHUB_CLAIMS, iss: 'https://issuer.example' }, usual()),
    'of an unknown key': () => issuer.sign(GITHUB_CLAIMS, { ...usual(), keyId: 'unknown' }),
    'without a signature': async () =>
      new UnsecuredJWT({ ...GITHUB_CLAIMS, iss: issuer.url, jti: 'x', aud: api.baseUrl, iat: now() })
        .setExpirationTime(now() + 300)
        .encode(),
    'with a changed claim': async () => {
      const [header, body, signature] = (await issuer.sign(GITHUB_CLAIMS, usual())).split('.')
      const claims = { ...JSON.parse(Buffer.from(body!, 'base64url').toString()), repository: 'ann/other' }
      return [header, Buffer.from(JSON.stringify(claims)).toString('base64url'), signature].join('.')
    },
    'that is no token': async () => 'x'.repeat(16_000),
  }

  test('is refused when it is not a valid one for this service', async () => {
    const { slug: site } = await trusting()
    for (const [which, make] of Object.entries(tokens)) {
      const { hint } = await expectFailure(
        make().then((token) => api.anonymous.exchangeIdToken({ token, site })),
        'INVALID_ID_TOKEN',
      ).catch((error: Error) => assert.fail(`${which}: ${error.message}`))
      assert.match(hint ?? '', /audience/)
    }
    await exchange(GITHUB_CLAIMS, site)
  })

  test('of a new key is accepted after at most a minute, and a hundred of unknown keys load the keys once', async () => {
    const { slug: site } = await trusting()
    const token = await issuer.sign(GITHUB_CLAIMS, { ...usual(), keyId: 'new', lifetimeSeconds: 3600 })
    const send = () => api.anonymous.exchangeIdToken({ token, site })
    api.pass(MINUTE_MS)
    const before = issuer.requests.length
    await Promise.all(Array.from({ length: 100 }, () => expectFailure(send(), 'INVALID_ID_TOKEN')))
    assert.deepEqual(issuer.requests.slice(before), ['/.well-known/openid-configuration', '/keys'])
    await issuer.publishKey('new')
    await expectFailure(send(), 'INVALID_ID_TOKEN')
    api.pass(MINUTE_MS)
    assert.equal((await send()).site, site)
  })

  test('is accepted for a day while its issuer is away, and one of a new key is answered with when to retry', async () => {
    const { slug: site } = await trusting()
    await exchange(GITHUB_CLAIMS, site)
    using stack = new DisposableStack()
    stack.defer(() => {
      issuer.fault = undefined
    })
    issuer.fault = (response) => response.writeHead(503).end()
    api.pass(2 * HOUR_MS)
    await exchange(GITHUB_CLAIMS, site)
    const token = await issuer.sign(GITHUB_CLAIMS, { ...usual(), keyId: 'newest' })
    const answer = await api.request('POST', '/api/auth/oidc/exchange', { json: { token, site } })
    assert.deepEqual([answer.json.code, answer.headers['retry-after']], ['UNAVAILABLE', '60'])
    api.pass(DAY_MS)
    await assert.rejects(exchange(GITHUB_CLAIMS, site), { code: 'UNAVAILABLE' })
    api.pass(MINUTE_MS)
    issuer.fault = undefined
    await exchange(GITHUB_CLAIMS, site)
  })
})
