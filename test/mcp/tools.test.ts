import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { EventEmitter, once } from 'node:events'
import { after, before, describe, test } from 'node:test'
import { MAX_REVIEW_LINKS } from '../../protocol/api/reviews.ts'
import { type Account, Api } from '../api/api.ts'
import { make } from '../api/archive-requests.ts'
import { makeSecret } from '../api/planted-secrets.ts'
import { MIB } from '../support/units.ts'
import { waitFor } from '../support/wait-for.ts'
import { Agent, callOf, LIST_TOOLS, postMessage } from './agent.ts'

const page = { path: 'index.html', content: '<title>One</title><h1>One</h1>' }

describe('the tools for programs', () => {
  let api: Api
  let account: Account
  let anonymous: Agent
  let owner: Agent
  before(async () => {
    api = await Api.start()
    account = await api.account()
    anonymous = await Agent.connect(api.baseUrl)
    owner = await Agent.connect(api.baseUrl, { key: account.key })
  })
  after(async () => {
    await anonymous[Symbol.asyncDispose]()
    await owner[Symbol.asyncDispose]()
    await api[Symbol.asyncDispose]()
  })

  const post = (message: unknown, headers: Record<string, string> = {}) =>
    postMessage(api.baseUrl, message, { headers })
  const visit = async (url: string, path = '/') => (await api.visit(url, path)).text
  const publish = (args: object, agent = owner) => {
    api.pass()
    return agent.call('publish_site', args)
  }

  test('take a site from nothing to published, updated, kept, restored and deleted', async () => {
    const created = await publish({ files: [page, { path: 'a.css', content: 'a{}' }] }, anonymous)
    assert.match(created.claimUrl, /\/claim\?slug=/)
    const { slug, siteUrl, claimToken } = created
    api.pass()
    const updated = await anonymous.call('update_files', {
      slug,
      claimToken,
      files: [{ path: 'b.txt', contentBase64: Buffer.from('b').toString('base64') }],
      delete: ['a.css'],
      baseVersionId: created.versionId,
    })
    assert.deepEqual(updated.changes, { added: 1, changed: 0, removed: 1 })
    assert.equal(await visit(siteUrl, '/b.txt'), 'b')
    await owner.call('claim_site', { slug, claimToken })
    const { versions } = await owner.call('list_versions', { slug })
    const ids = versions.map(({ versionId }: { versionId: string }) => versionId)
    assert.deepEqual(ids, [updated.versionId, created.versionId])
    const rollback = { slug, versionId: 'previous' }
    const stale = { ...rollback, baseVersionId: created.versionId }
    assert.match(await owner.refusal('restore_version', stale), /^VERSION_CONFLICT/)
    await owner.call('restore_version', { ...rollback, baseVersionId: updated.versionId })
    assert.equal(await visit(siteUrl, '/a.css'), 'a{}')
    assert.equal((await owner.call('read_file', { slug, path: 'a.css' })).content, 'a{}')
    await owner.call('set_metadata', { slug, title: 'Two' })
    const { title, files, fileCount } = await owner.call('get_site', { slug })
    assert.deepEqual([title, files.length, fileCount], ['Two', 2, 2])
    const copy = await owner.call('duplicate_site', { slug })
    assert.equal((await owner.call('list_sites', { q: copy.slug })).sites[0].siteUrl, copy.siteUrl)
    assert.equal((await owner.call('delete_site', { slug })).deleted, true)
    assert.match(await owner.refusal('get_site', { slug }), /^NOT_FOUND: .*trash\nNext: .*list_sites.*trash/)
  })

  test('publish by name: the first call creates the site, the next one updates it', async () => {
    const name = 'corner-bakery'
    const first = await publish({ files: [page], name })
    const second = await publish({ files: [{ ...page, content: 'new' }], name })
    assert.deepEqual(
      [first.slug, first.previousVersionId, second.slug, second.previousVersionId],
      [name, undefined, name, first.versionId],
    )
  })

  test('connect a domain and check it', async () => {
    const { slug } = await publish({ files: [page] })
    const added = await owner.call('add_domain', { domain: 'www.shop.test', slug })
    assert.equal(added.records[0].type, 'CNAME')
    assert.equal((await owner.call('check_domain', { domain: 'www.shop.test' })).status, 'pending')
    const { domains } = await owner.call('list_domains')
    assert.deepEqual([domains.length, domains[0].siteSlug], [1, slug])
    assert.equal((await owner.call('remove_domain', { domain: 'www.shop.test' })).deleted, true)
    assert.deepEqual((await owner.call('list_domains')).domains, [])
  })

  test('serve clients of earlier revisions, and those with a session of another server', async () => {
    await using legacy = await Agent.connect(api.baseUrl, { key: account.key, mode: 'legacy' })
    assert.equal((await publish({ files: [page] }, legacy)).status, 'active')
    const response = await post(LIST_TOOLS, { 'mcp-session-id': 'stale' })
    assert.equal(response.status, 200)
    assert.match(await response.text(), /publish_site/)
  })

  test('a byte-identical publish makes no version', async () => {
    const { slug, versionId } = await publish({ files: [page] })
    const again = await publish({ slug, files: [page] })
    assert.deepEqual([again.unchanged, again.versionId], [true, versionId])
  })

  test('a publish over a version that the caller has not seen says who published what', async () => {
    const { slug, versionId: baseVersionId } = await publish({ files: [page] })
    const other = await publish({ slug, files: [page, { path: 'new.txt', content: 'n' }], message: 'Prices' })
    const text = await owner.refusal('publish_site', {
      slug,
      files: [{ path: 'a', content: 'a' }],
      baseVersionId,
    })
    assert.match(text, /^VERSION_CONFLICT: .*\nNext: .*baseVersionId/)
    for (const part of [other.versionId, account.email, 'Prices', '"added":["new.txt"]'])
      assert.ok(text.includes(part), `${part} is missing in ${text}`)
    const confused = { slug, files: [page], versionId: baseVersionId }
    const question = await owner.refusal('publish_site', confused)
    assert.match(question, /^VALIDATION_ERROR: versionId: .*baseVersionId\?/, 'files are never left out')
    // Without an account, the history of the site is not shown.
    const { slug: unclaimed, claimToken } = await publish({ files: [page] }, anonymous)
    const stale = { slug: unclaimed, claimToken, files: [page], baseVersionId }
    const refusal = await anonymous.refusal('update_files', stale)
    assert.match(refusal, /\nNext: .*live version in details.*\n.*\nDetails: {"currentVersionId":"/)
    assert.doesNotMatch(refusal, /details\.live/)
  })

  test('contents of up to 4 MiB need no upload, and other files get upload targets', async () => {
    const files = Array.from({ length: 3 }, (_, at) => ({ path: `${at}.txt`, content: 'x'.repeat(MIB) }))
    const { slug, siteUrl } = await publish({ files })
    assert.equal((await visit(siteUrl, '/2.txt')).length, MIB)
    const larger = [...files, { path: '3.txt', content: 'x'.repeat(MIB) }, page]
    assert.match(
      await owner.refusal('publish_site', { files: larger }),
      /^PAYLOAD_TOO_LARGE: .*\nNext: .*hash/,
    )
    const bytes = Buffer.from('uploaded')
    const hash = createHash('sha256').update(bytes).digest('hex')
    const entry = { path: 'index.html', size: bytes.length, hash }
    const empty = { path: 'a.css', size: 0, hash: createHash('sha256').digest('hex') }
    const { versionId, uploads } = await publish({ slug, files: [entry, empty], live: false })
    assert.deepEqual([uploads.count, uploads.paths], [1, ['index.html']])
    const body = make('tar', { 'index.html': bytes })
    const receipt = await fetch(uploads.url, {
      method: 'PUT',
      headers: uploads.headers,
      body: new Uint8Array(body),
    })
    assert.equal(receipt.status, 200)
    const draft = await publish(JSON.parse(/with (\{.*\})\.$/.exec(uploads.next)![1]!))
    assert.equal(draft.versionId, versionId)
    assert.notEqual(await visit(siteUrl), 'uploaded')
    await owner.call('restore_version', { slug, versionId })
    assert.deepEqual([await visit(siteUrl), await visit(siteUrl, '/a.css')], ['uploaded', ''])
    const countVersions = async () => (await owner.call('list_versions', { slug })).versions.length
    const before = await countVersions()
    const again = await publish({ slug, files: [entry, empty] })
    assert.deepEqual([again.unchanged, again.versionId, await countVersions()], [true, versionId, before])
    // The live version has these bytes already, so that nothing is left to upload.
    const copied = await publish({ slug, files: [entry, { ...entry, path: 'b.html' }] })
    assert.deepEqual([copied.status, copied.uploads], ['active', undefined])
  })

  test('a ten-file site takes one call and few bytes of context', async () => {
    const files = Array.from({ length: 9 }, (_, at) => ({
      path: `page-${at}.html`,
      content: `<h1>${at}</h1>`,
    }))
    const result = await anonymous.send('publish_site', { files: [page, ...files] })
    const bytes = JSON.stringify(result).length
    assert.ok(bytes < 2000, `the result has ${bytes} bytes`)
  })

  test('long results are cut', async () => {
    const long = { path: 'long.txt', content: 'é'.repeat(40_000) }
    const files = Array.from({ length: 60 }, (_, at) => ({ path: `${at}.txt`, content: 'x' }))
    const { slug } = await publish({ files: [...files, long, { path: 'a.bin', contentBase64: 'AAEC' }] })
    const parts: string[] = []
    for (let offset: number | undefined = 0; offset !== undefined; ) {
      const { content, nextOffset } = await owner.call('read_file', { slug, path: 'long.txt', offset })
      assert.ok(Buffer.byteLength(content) <= 50_000)
      parts.push(content)
      offset = nextOffset
    }
    assert.deepEqual([parts.length, parts.join('')], [2, long.content])
    // An offset within a character.
    const { content } = await owner.call('read_file', { slug, path: 'long.txt', offset: 79_995 })
    assert.equal(content, 'éé')
    const last = await owner.call('read_file', { slug, path: 'long.txt', offset: 30_000 })
    assert.deepEqual([last.content.length, last.nextOffset], [25_000, undefined])
    assert.equal((await owner.call('read_file', { slug, path: 'a.bin' })).content, undefined)
    const site = await owner.call('get_site', { slug })
    assert.deepEqual([site.files.length, site.fileCount, site.nextOffset], [50, 62, 50])
    const rest = await owner.call('get_site', { slug, offset: site.nextOffset })
    assert.deepEqual([rest.files.length, rest.nextOffset], [12, undefined])
    assert.equal((await owner.call('get_site', { slug, offset: 12 })).nextOffset, undefined)
    const paths = [...site.files, ...rest.files].map(({ path }: { path: string }) => path)
    assert.equal(new Set(paths).size, 62)
  })

  test('arguments have one type each, and null removes a value', async () => {
    const { tools } = await owner.client.listTools()
    for (const { name, inputSchema } of tools)
      assert.doesNotMatch(JSON.stringify(inputSchema), /"type":\[/, name)
    const { slug } = await publish({ files: [page], title: 'Two' })
    await owner.call('set_metadata', { slug, title: null })
    assert.equal((await account.client.details(slug)).viewer.title, null)
  })

  test('a refused call says what is wrong and what to do next', async () => {
    const refusals: [tool: string, args: object, refusal: RegExp][] = [
      ['publish_site', {}, /^VALIDATION_ERROR: .*files/],
      ['publish_site', { files: [{ path: '../a', content: 'a' }] }, /^VALIDATION_ERROR: files\[0\]/],
      ['publish_site', { files: 'index.html' }, /^VALIDATION_ERROR: files: must be an array/],
      ['get_site', {}, /^VALIDATION_ERROR: slug: is required/],
      ['get_site', { slug: 7 }, /^VALIDATION_ERROR: slug: must be a string/],
      ['get_site', { slug: 'a%2e' }, /^NOT_FOUND: /],
      ['set_metadata', { slug: 'a' }, /^VALIDATION_ERROR: body: must have at least 2 fields/],
      ['get_site', { slug: '..' }, /^VALIDATION_ERROR: slug: must be a slug, or a URL below localhost/],
      ['get_site', { slug: 'https://a.example.com/' }, /^VALIDATION_ERROR: slug: must be a slug, or a URL/],
      ['get_site', { slug: 'x'.repeat(2001) }, /^VALIDATION_ERROR: slug: must have at most 2000 characters/],
      [
        'publish_site',
        { files: [page], titel: 'T' },
        /^VALIDATION_ERROR: titel: is not an argument of publish_site, which has files, slug, name, title/,
      ],
      [
        'publish_site',
        { files: [{ ...page, type: 'text/html' }] },
        /^VALIDATION_ERROR: files\[0\].type: is not an argument of files, which has path, content/,
      ],
      [
        'update_files',
        { slug: 'a', merge: true },
        /^VALIDATION_ERROR: merge: is not an argument of update_files/,
      ],
      ['publish_site', { slug: 'a', constructor: 1 }, /^VALIDATION_ERROR: constructor: is not an argument/],
      ['read_file', { slug: 'of-another', path: '../../../me' }, /^NOT_FOUND: Site not found/],
      ['get_site', { slug: 'of-another' }, /^NOT_FOUND: .*\nNext: .*list_sites/],
      ['restore_version', { slug: 'of-another', versionId: 'x' }, /^NOT_FOUND: /],
    ]
    for (const [tool, args, refusal] of refusals) assert.match(await owner.refusal(tool, args), refusal)
    const { slug } = await publish({ files: [page] })
    const unknown: [tool: string, args: object, lists: string][] = [
      ['read_file', { path: 'no.txt' }, 'get_site'],
      ['promote_preview', { preview: 'no-preview' }, 'list_previews'],
      ['resolve_feedback', { thread: 'x' }, 'list_feedback'],
    ]
    for (const [tool, args, lists] of unknown)
      assert.match(
        await owner.refusal(tool, { slug, ...args }),
        new RegExp(`^NOT_FOUND: .*\\nNext: .*${lists}`),
      )
    const { apiKey } = await account.client.createKey({ name: 'reader', scope: 'read' })
    await using reader = await Agent.connect(api.baseUrl, { key: apiKey })
    assert.match(await reader.refusal('publish_site', { files: [page] }), /^INSUFFICIENT_SCOPE: /)
    await assert.rejects(owner.client.callTool({ name: 'no_tool' }), /Unknown tool: no_tool/)
    for (const args of ['a text', ['a', 'list'], 1, true]) {
      const call = owner.client.callTool({ name: 'list_sites', arguments: args as never })
      await assert.rejects(call, /arguments must be an object/)
    }
  })

  test('a text with half of a character is refused by the name of its argument, for each tool', async () => {
    const { tools } = await owner.client.listTools()
    for (const { name, inputSchema } of tools)
      for (const [argument, { type }] of Object.entries(inputSchema.properties ?? {}) as [
        string,
        { type: unknown },
      ][])
        if ([type].flat().includes('string'))
          assert.match(
            await owner.refusal(name, { [argument]: 'a\ud83d' }),
            new RegExp(`^VALIDATION_ERROR: .*${argument}: must have no half of a surrogate pair`),
          )
  })

  test('a call counts as the requests that it sends', async () => {
    const remaining = async () => {
      const { headers } = await account.request('GET', '/api/v1/publishes')
      return Number(headers['x-ratelimit-remaining'])
    }
    const first = await remaining()
    await owner.call('list_sites')
    assert.equal(await remaining(), first - 2)
  })

  test('a call that needs an account is refused as HTTP requires, so that clients sign in', async () => {
    const { slug } = await publish({ files: [page] })
    const calls = [
      callOf('list_sites'),
      callOf('update_files', { slug, files: [page] }),
      callOf('claim_site', { slug, claimToken: 'x' }),
    ]
    for (const call of calls) assert.equal((await post(call)).status, 401)
    assert.equal((await post(LIST_TOOLS, { authorization: 'Bearer sl_live_no' })).status, 401)
  })

  test('say the same about an error, in the response and in the result of a call, and why', async () => {
    const named = callOf('publish_site', { files: [page], name: 'a-name' })
    const refusals: [call: object, headers: Record<string, string>, error: RegExp][] = [
      [named, {}, /^Choosing a name needs an account\. Sign in, or publish without a name$/],
      [callOf('list_sites'), {}, /^list_sites needs an account$/],
      [LIST_TOOLS, { authorization: 'Bearer expired' }, /^The token or API key is invalid or has expired\./],
    ]
    for (const [call, headers, message] of refusals) {
      const response = await post(call, headers)
      const { error, hint } = (await response.json()) as { error: string; hint: string }
      assert.equal(response.status, 401)
      assert.match(error, message)
      assert.match(hint, /^Sign in: .*\/mcp\/account.*publish_site works without signing in/)
      assert.doesNotMatch(hint, /request-code/)
    }
    // In a batch, the refusal of one call is a result.
    const batch = (await (await post([named])).json()) as { result: { content: { text: string }[] } }[]
    assert.match(
      batch[0]!.result.content[0]!.text,
      /^UNAUTHORIZED: Choosing a name needs .*\nNext: Sign in: /,
    )
  })

  test('take the URL of a site, of a version or of a preview in place of its slug', async () => {
    const { slug, siteUrl, versionId } = await publish({ files: [page] })
    const { port } = new URL(siteUrl)
    for (const url of [siteUrl, `${slug}.localhost`, `http://${versionId}--${slug}.localhost:${port}/a?b`])
      assert.equal((await owner.call('get_site', { slug: url })).slug, slug)
  })

  test('publish a preview, make it live and delete it', async () => {
    const { slug, siteUrl } = await publish({ files: [page] })
    await publish({ slug, files: [{ path: 'index.html', content: 'next' }], preview: 'next' })
    assert.match(await visit(siteUrl), /One/)
    const { previews, total } = await owner.call('list_previews', { slug })
    assert.deepEqual([total, previews[0].name, await visit(previews[0].url)], [1, 'next', 'next'])
    await owner.call('promote_preview', { slug, preview: 'next', versionId: previews[0].versionId })
    assert.equal(await visit(siteUrl), 'next')
    assert.equal((await owner.call('delete_preview', { slug, preview: 'next' })).deleted, true)
  })

  test('create a review link of what they publish, also after an upload, but not without an account', async () => {
    const next = { path: 'index.html', content: 'next' }
    const open = ({ reviewUrl }: { reviewUrl: string }) =>
      api.anonymous.with({ reviewToken: new URL(reviewUrl).hash.slice(1) })
    const live = await publish({ files: [page], review: true })
    const { slug } = live
    assert.equal((await open(live).review(slug).get()).preview, null)
    const preview = await publish({ slug, preview: 'next', files: [next], review: true })
    assert.equal((await open(preview).review(slug, 'next').get()).preview, 'next')
    assert.equal((await publish({ slug, files: [page] })).reviewUrl, undefined)

    const bytes = Buffer.from('uploaded')
    const entry = {
      path: 'index.html',
      size: bytes.length,
      hash: createHash('sha256').update(bytes).digest('hex'),
    }
    const { uploads } = await publish({ slug, preview: 'next', files: [entry], review: true })
    const body = make('tar', { 'index.html': bytes })
    await fetch(uploads.url, { method: 'PUT', headers: uploads.headers, body: new Uint8Array(body) })
    const args = JSON.parse(/publish_site with (\{.*\})\./.exec(uploads.next)![1]!)
    assert.equal(
      (
        await open(await publish(args))
          .review(slug, 'next')
          .get()
      ).preview,
      'next',
    )

    const review = account.client.review(slug)
    for (let links = 1; links < MAX_REVIEW_LINKS; links++) await review.createLink()
    const refused = await publish({ slug, files: [page], review: true })
    assert.deepEqual([refused.status, refused.reviewUrl], ['active', undefined])
    assert.match(refused.reviewProblem, /at most 20 links/)

    const anonymousSite = await publish({ files: [page], review: true }, anonymous)
    assert.deepEqual([anonymousSite.status, anonymousSite.reviewUrl], ['active', undefined])
    assert.ok(anonymousSite.claimToken)
  })

  test('read a review, answer its threads and learn the decision, in at most 2,000 tokens for 20 threads', async () => {
    const { slug, versionId } = await publish({ files: [page] })
    const preview = 'next'
    const shown = await publish({ slug, preview, files: [{ path: 'index.html', content: 'next' }] })
    const names = { path: '/a.html', selector: 'main > p', text: 'the text', before: '', after: '' }
    const place = { ...names, width: 390, height: 800 }
    const review = account.client.review(slug, preview)
    const begin = (text: string, at = place, name?: string) => {
      api.pass()
      return review.createThread({ versionId: shown.versionId, place: at, text, ...(name && { name }) })
    }
    const ofLive = await account.client.review(slug).createThread({ versionId, place, text: 'Live' })
    const { id } = await begin('Too small')
    const list = (args: object = {}) => owner.call('list_feedback', { slug, preview, ...args })
    const by = `${account.email.split('@')[0]} (owner)`
    const { text, path, selector } = place
    const listed = { id, path, place: text, selector, width: 390, by, words: 'Too small' }
    assert.deepEqual((await list()).threads, [listed])
    const replied = await owner.call('reply_to_feedback', { slug, preview, thread: id, text: 'Larger' })
    assert.deepEqual(replied, { ...listed, replies: 1, lastReplyBy: by, lastReply: 'Larger' })
    const long = 'x'.repeat(5000)
    const { lastReply } = await owner.call('reply_to_feedback', { slug, thread: ofLive.id, text: long })
    assert.equal(lastReply, long, 'a reply may have what a comment may have')
    const resolved = await owner.call('resolve_feedback', { slug, thread: ofLive.id })
    assert.deepEqual([resolved.status, (await list()).counts.open], ['resolved', 1])
    assert.deepEqual((await list({ preview: undefined, status: 'resolved' })).threads, [resolved])
    const note = 'Ship it'
    const approval = { decision: 'approved', versionId: shown.versionId, note } as const
    await review.decide(approval)
    const { url, dashboardUrl, ...decided } = await owner.call('get_review', { slug, preview })
    const counts = { open: 1, resolved: 0, outdated: 0 }
    assert.deepEqual(decided, { ...approval, counts, by })
    const later = await begin('Too dark')
    await review.reportPlacements({ versionId: shown.versionId, placed: [], missing: [later.id] })
    const found = (await list()).threads as { id: string; outdated?: boolean }[]
    assert.deepEqual(
      found.map((one) => [one.id, one.outdated ?? false]),
      [
        [id, false],
        [later.id, true],
      ],
      'what has no place any more is listed last, and marked',
    )
    await review.reportPlacements({ versionId: shown.versionId, placed: [later.id], missing: [] })
    await review.addToThread(later.id, { status: 'resolved' })

    for (const sentence of [
      'The second button is too small on my phone. ',
      'Вторая кнопка слишком маленькая на моём телефоне. ',
      '第二个按钮在我的手机上太小。',
      'दूसरा बटन मेरे फोन पर बहुत छोटा है। ',
    ]) {
      const fill = (length: number) => sentence.repeat(length / sentence.length)
      const long = { ...place, path: `/${fill(500)}`, selector: fill(512), text: fill(500) }
      for (let count = 0; count < 20; count++)
        await review.addToThread((await begin(fill(5000), long, `a${'😀'.repeat(29)}`)).id, {
          text: fill(5000),
        })
      const { threads, ...rest } = await list()
      assert.equal(threads.length, 20)
      for (const { words, by } of threads) {
        assert.ok(sentence.startsWith(words.slice(0, -1)), words)
        assert.ok(by.isWellFormed(), by)
      }
      // js-tiktoken 1.0.21 (o200k_base) counts 1,561 to 1,739 tokens.
      assert.ok(Buffer.byteLength(JSON.stringify({ threads, ...rest })) <= 6000)
      const whole = await list({ thread: threads[0].id })
      assert.deepEqual([whole.threads.length, whole.threads[0].words.length > 300], [1, true])
    }
  })

  test('refuse files with a secret, by its fingerprint, and publish it when that is allowed', async () => {
    const { slug } = await publish({ files: [page] })
    const files = [{ path: 'a.js', content: `token = '${makeSecret()}'` }]
    for (const [tool, args] of [
      ['publish_site', { files }],
      ['update_files', { slug, files }],
    ] as const) {
      const refusal = await owner.refusal(tool, args)
      assert.match(refusal, /^SECRET_DETECTED: .*a\.js:1 \(GitHub token\)/)
      const [fingerprint] = /\b[0-9a-f]{20}\b/.exec(refusal)!
      assert.equal((await owner.call(tool, { ...args, allowSecrets: [fingerprint] })).status, 'active')
    }
  })

  test('rename a site, restore a deleted one, and report its visits', async () => {
    const { slug } = await publish({ files: [page] })
    const renamed = await owner.call('rename_site', { slug, name: `renamed-${slug}`.slice(0, 30) })
    assert.deepEqual([renamed.formerSlug, await visit(renamed.siteUrl)], [slug, page.content])
    const { deletedUntil } = await owner.call('delete_site', { slug: renamed.slug })
    assert.ok(deletedUntil > new Date().toISOString())
    const trash = await owner.call('list_sites', { deleted: true, q: renamed.slug })
    assert.deepEqual([trash.sites.length, trash.sites[0].slug], [1, renamed.slug])
    const undelete = async () => (await owner.call('undelete_site', { slug: renamed.slug })).unchanged
    assert.deepEqual([await undelete(), await undelete()], [undefined, true])
    assert.equal(await visit(renamed.siteUrl), page.content)
    const query = { slug: renamed.slug, range: '24h', path: '/' }
    const { range, topPages, filtered } = await owner.call('get_visits', query)
    assert.deepEqual([range, topPages[0].requests], ['24h', filtered.requests])
  })

  test('are listed in at most 4,700 tokens, with what a call needs', async () => {
    const { tools } = await owner.client.listTools()
    // js-tiktoken 1.0.21 (o200k_base) counts 3,727 tokens in 15,662 bytes.
    const bytes = JSON.stringify(tools).length
    assert.ok(bytes < 19_700, `${bytes} bytes`)
    const anonymous = tools
      .filter(({ _meta }) => JSON.stringify(_meta).includes('noauth'))
      .map(({ name }) => name)
    assert.deepEqual(anonymous, ['publish_site', 'update_files'])
    for (const { name, inputSchema } of tools) assert.equal(inputSchema.additionalProperties, false, name)
  })

  test('a caller has at most eight calls at the same time, and one that its client cancels makes room', async () => {
    await using busy = await Api.start()
    const { key } = await busy.account()
    await using agent = await Agent.connect(busy.baseUrl, { key })
    const arrivals = new EventEmitter()
    const released = Promise.withResolvers<void>()
    const { blobs } = busy.running.service
    const { put } = blobs
    blobs.put = async (...args) => {
      arrivals.emit('file')
      await released.promise
      return put(...args)
    }
    const running: Promise<unknown>[] = []
    /** Whether a call was begun, which waits for its file; otherwise it was refused. */
    const begin = async (signal?: AbortSignal) => {
      const arrived = once(arrivals, 'file')
      const call = { name: 'publish_site', arguments: { files: [page] } }
      const result = agent.client.callTool(call, signal && { signal })
      const refused = result.then(
        () => undefined,
        (error: Error) => error,
      )
      const error = await Promise.race([arrived.then(() => undefined), refused])
      if (error) assert.match(error.message, /UNAVAILABLE/)
      else running.push(result)
      return !error
    }
    const cancel = new AbortController()
    assert.ok(await begin(cancel.signal))
    for (let count = 1; count < 8; count++) assert.ok(await begin())
    assert.equal(await begin(), false)
    await using other = await Agent.connect(busy.baseUrl)
    assert.ok((await other.client.listTools()).tools.length > 0)
    cancel.abort()
    await assert.rejects(running.shift()!, /AbortError/)
    await waitFor(() => begin())
    released.resolve()
    assert.equal((await Promise.all(running)).length, 8)
  })
})
