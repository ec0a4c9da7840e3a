import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Slipway } from '../../client/sdk/slipway.ts'
import { isSlipwayError } from '../../client/sdk/slipway-error.ts'
import { MAX_REVIEW_LINKS } from '../../protocol/api/reviews.ts'
import type { Reply } from './fake-server.ts'
import { useRealService } from './real-cli.ts'
import { KEY, startScriptedCli } from './scripted-cli.ts'

describe('the review of a preview', () => {
  const start = useRealService()

  /** A preview with a thread of a guest. */
  async function startReview() {
    const fixture = start({ 'site/index.html': '<h1>Menu</h1>' })
    const owner = await fixture.signIn()
    const { cli } = fixture
    await cli.run(['publish', 'site'])
    fixture.pass()
    const { stdout } = await cli.run(['publish', 'site', '--preview', 'spring', '--review', '--json'])
    const { reviewUrl, slug } = JSON.parse(stdout)
    const { origin, hash } = new URL(reviewUrl)
    const guest = new Slipway({ baseUrl: origin, reviewToken: hash.slice(1) }).review(slug, 'spring')
    const { versionId } = await guest.get()
    const place = {
      path: '/',
      selector: 'h1',
      text: 'Menu',
      before: 'The',
      after: '',
      width: 390,
      height: 800,
    }
    const { id } = await guest.createThread({ versionId, place, text: 'Too small', name: 'Bea' })
    const feedback = (...args: string[]) => cli.run(['feedback', ...args, '--preview', 'spring'])
    return { ...fixture, owner, slug, guest, id, versionId, feedback }
  }

  it('is read, answered and resolved', async () => {
    using fixture = await startReview()
    const { feedback, id, guest, versionId } = fixture
    assert.match(
      (await feedback()).stdout,
      new RegExp(`^${id}  /  open  390×800\n  The "Menu"  h1\n  Bea .guest.*Too small`),
    )
    assert.match((await feedback()).stderr, /Answer one: \S+ feedback --preview spring reply ID/)
    const elsewhere = await fixture.cli.run(['feedback', 'resolve', id])
    assert.deepEqual([elsewhere.code, /need --preview NAME/.test(elsewhere.stderr)], [2, true])
    assert.equal((await feedback('reply', id.slice(0, 12), 'It is larger now')).code, 0)
    assert.equal((await feedback('resolve', id)).code, 0)
    const [thread] = (await guest.get()).threads
    assert.deepEqual(
      [thread!.status, thread!.comments.map(({ text }) => text)],
      ['resolved', ['Too small', 'It is larger now']],
    )
    assert.match((await feedback()).stderr, /No open threads.*0 open threads, 1 resolved/s)
    assert.match((await feedback('reopen', id)).stderr, /Reopened/)
    assert.equal((await guest.get()).counts.open, 1)
    assert.equal((await feedback('resolve', id)).code, 0)
    assert.equal(JSON.parse((await feedback('--status', 'resolved', '--json')).stdout).threads.length, 1)
    await guest.createThread({ versionId, place: thread!.place, text: 'Too pale', name: 'Bea' })
    const ofBoth = id.slice(0, 4)
    for (const args of [['reply', id], ['resolve'], ['resolve', 'x'], ['resolve', ofBoth], ['--status', 'x']])
      assert.equal((await feedback(...args)).code, 2, args.join(' '))
  })

  it('is printed with each line of a comment and of a note, and with a place that has no text', async () => {
    using fixture = await startReview()
    const { feedback, guest, versionId } = fixture
    const place = { path: '/', selector: 'body', text: '', before: '', after: '', width: 390, height: 800 }
    await guest.createThread({ versionId, place, text: 'Pale\n\nand flat', name: 'Bea' })
    assert.match((await feedback()).stdout, /\n {2}body\n {2}Bea \(guest\), .*: Pale\n {4}\n {4}and flat\n/)
    await guest.decide({ decision: 'approved', versionId, note: 'Better\nnow', name: 'Bea' })
    assert.match((await feedback()).stderr, /Bea \(guest\): Better now\n/)
  })

  it('is waited for: 8 when changes are requested, 0 when it is approved', async () => {
    using fixture = await startReview()
    const { feedback, guest, id, versionId } = fixture
    for (const [decision, code, shown] of [
      ['changes-requested', 8, /Changes requested by Bea \(guest\): Larger/],
      ['approved', 0, /Approved by Bea \(guest\): Larger/],
    ] as const) {
      const note = { note: 'Larger', name: 'Bea' }
      const waiting = code === 8 ? feedback('--wait') : undefined
      await guest.decide({ decision, versionId, ...note })
      const done = await (waiting ?? feedback('--wait'))
      assert.equal(done.code, code, done.stderr)
      assert.match(done.stderr, shown)
      const { code: error, details, ...review } = JSON.parse((await feedback('--wait', '--json')).stdout)
      assert.equal(error, code === 8 ? 'CHANGES_REQUESTED' : undefined)
      assert.equal((details ?? review).threads[0].comments[0].text, 'Too small')
    }
    await fixture.owner.setMetadata(fixture.slug, { requireApproval: 'collaborators' })
    assert.equal((await feedback('resolve', id)).code, 0)
    const approved = await feedback('--wait', '--json')
    const { decided, threads } = JSON.parse(approved.stdout)
    assert.deepEqual([approved.code, decided.author.role, threads], [0, 'guest', []])
    const promotion = fixture.owner.promote(fixture.slug, 'spring')
    await assert.rejects(promotion, (error) => isSlipwayError(error, 'APPROVAL_REQUIRED'))
    await fixture.cli.run(['publish', 'site', '--preview', 'autumn', '--review'])
    const autumn = fixture.owner.review(fixture.slug, 'autumn')
    await autumn.decide({ decision: 'changes-requested', versionId: (await autumn.get()).versionId })
    assert.match((await feedback()).stderr, /Changes requested in another review of the site/)
  })

  it('is waited for until a decision, also while the server or a proxy is away', async () => {
    const keyed = { env: { SLIPWAY_KEY: KEY } }
    await using fixture = await startScriptedCli()
    const counts = { open: 0, resolved: 0, outdated: 0 }
    const review = { versionId: 'v1', revision: '1', threads: [], decided: null, counts }
    const replies: Reply[] = [
      [502, '<h1>Bad gateway</h1>'],
      [200, { ...review, decision: 'none' }],
      [502, '<h1>Bad gateway</h1>'],
      [503, { code: 'UNAVAILABLE' }, { 'Retry-After': '30' }],
      [200, { revision: '2' }],
      [500, { code: 'INTERNAL' }],
      [200, { revision: '2' }],
      [200, { ...review, decision: 'approved' }],
    ]
    fixture.server.reply(/review/, () => replies.shift())
    const { code, stderr } = await fixture.cli.run(['feedback', '--wait', '--site', 'otter'], keyed)
    assert.deepEqual([code, replies.length], [0, 0], stderr)
    assert.deepEqual(fixture.cli.pauses, [5000, 5000, 30_000, 5000])
    const absences = stderr.match(/✗ .+\n {2}Still waiting/g) ?? []
    assert.equal(absences.length, 2, stderr)
  })

  it('has at most 20 links, which show later versions too', async () => {
    using fixture = await startReview()
    const publish = () => fixture.cli.run(['publish', 'site', '--preview', 'spring', '--review'])
    for (let number = 1; number < MAX_REVIEW_LINKS; number++) assert.equal((await publish()).code, 0)
    const { code, stderr } = await publish()
    assert.deepEqual([code, /at most 20 links\n.*publish without --review/.test(stderr)], [4, true], stderr)
  })

  it('needs an account', async () => {
    using fixture = start({ 'site/index.html': 'x' })
    const { code, stderr } = await fixture.cli.run(['publish', 'site', '--review'])
    assert.deepEqual([code, /Reviews need an account/.test(stderr)], [3, true], stderr)
  })
})
