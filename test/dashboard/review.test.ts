import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FrameLocator, Locator, Page } from 'playwright-core'
import type { ReviewThread } from '../../protocol/api/reviews.schema.ts'
import { MINUTE_MS } from '../../server/lib/time.ts'
import { toFiles } from '../api/content.ts'
import { waitFor } from '../support/wait-for.ts'
import { hold } from './file-drop.ts'
import { web } from './shared.ts'
import {
  asksBeforeClosing,
  newAddress,
  type Owner,
  requiresBrowser,
  signInElsewhere,
  typeWhileSending,
} from './web-fixture.ts'

const PAGE = (button: string) =>
  `<!doctype html><html lang="en"><title>Menu</title><h1>Bakery</h1><p>Bread and cakes</p><button>${button}</button><p>Opening hours</p><a href="/about.html">About</a><a href="/nowhere">Nowhere</a>`

const ABOUT =
  '<!doctype html><title>About</title><div style="height:3000px"></div><h1>About us</h1><div style="height:3000px"></div>'

const files = (button: string) =>
  toFiles({
    'index.html': PAGE(button),
    'about.html': ABOUT,
  })

/** A preview and a link to its review. */
async function startReview({ client }: Owner) {
  const { slug } = await client.publish({ files: files('Buy') })
  await client.publish({ slug, files: files('Order'), preview: 'spring' })
  const review = client.review(slug, 'spring')
  return { slug, review, link: (await review.createLink()).url }
}

function frameOf(page: Page): FrameLocator {
  return page.frameLocator('iframe[title="The reviewed page"]')
}

/** Clicks the mark of the thread at an element, which shows the thread; the page cannot see marks, nor can a test. */
async function openMark(page: Page, commented: Locator): Promise<void> {
  const reply = page.getByLabel('Reply')
  await waitFor(async () => {
    await commented.scrollIntoViewIfNeeded()
    const box = (await commented.boundingBox())!
    await page.mouse.click(box.x + box.width + 8, box.y)
    return (await reply.count()) > 0
  })
}

async function openAsGuest(link: string) {
  const { page, visitor } = await web.asVisitor()
  await page.goto(link)
  const name = page.getByLabel('Your name')
  await name.fill('Bea')
  // While a field has the focus, the frame itself takes no press, as those of these tests do.
  await name.blur()
  await frameOf(page).getByRole('button', { name: 'Order' }).waitFor()
  return { page, visitor }
}

test(
  'no script of a review waits for another, because the page names all of them',
  requiresBrowser,
  async () => {
    const { owner } = await web.asOwner()
    const { link } = await startReview(owner)
    const { page } = await web.asVisitor()
    const html = await (await page.goto(link))!.text()
    await page.locator('.review-desk [role=toolbar] button:enabled').first().waitFor()
    const loaded = await page.evaluate(() =>
      performance.getEntriesByType('resource').map(({ name }) => new URL(name).pathname),
    )
    const scripts = loaded.filter((path) => path.endsWith('.js'))
    assert.notDeepEqual(scripts, [])
    assert.deepEqual(
      scripts.filter((path) => !html.includes(`"${path}"`)),
      [],
    )
  },
)

for (const [what, press] of [
  ['press', (page, x, y) => page.mouse.click(x, y)],
  ['tap', (page, x, y) => page.touchscreen.tap(x, y)],
] as [string, (page: Page, x: number, y: number) => Promise<void>][])
  test(
    `a ${what} on the page leaves the field that has the focus, and follows the link there`,
    requiresBrowser,
    async () => {
      const { owner } = await web.asOwner()
      const { link } = await startReview(owner)
      const { page } = await web.asVisitor(undefined, { hasTouch: what === 'tap' })
      await page.goto(link)
      const about = frameOf(page).getByRole('link', { name: 'About' })
      await about.waitFor()
      await page.getByText('Comments', { exact: true }).waitFor()
      const name = page.getByLabel('Your name')
      await name.fill('Bea')
      await about.scrollIntoViewIfNeeded()
      const { x, y, width, height } = (await about.boundingBox())!
      await press(page, x + width / 2, y + height / 2)
      await frameOf(page).getByRole('heading', { name: 'About us' }).waitFor()
      assert.ok(await name.evaluate((field) => field !== document.activeElement))
    },
  )

for (const [what, outcome, html] of [
  ['without a place', 'is outdated', PAGE('Buy')],
  [
    'whose text is at two other places, with other words around,',
    'is outdated',
    PAGE('Buy').replace('<h1>', '<p>Order</p><p>Order</p><h1>'),
  ],
  [
    'whose text is at more than 200 places before the one with the same words around',
    'is outdated',
    PAGE('Buy')
      .replace('<h1>', `${'<p>Order</p>'.repeat(200)}<p>Opening hours</p><h1>`)
      .replace('<button>Buy</button>', '<p><b>Order</b></p>'),
  ],
  [
    'whose text is at two other places',
    'is at the one with the same words around',
    PAGE('Buy').replace('<h1>', '<p>Order</p><h1>').replace('<button>Buy</button>', '<p><b>Order</b></p>'),
  ],
] as const)
  test(`a comment ${what} ${outcome}`, requiresBrowser, () => testPlacement(html, outcome === 'is outdated'))

async function testPlacement(html: string, isOutdated: boolean): Promise<void> {
  const { owner, page } = await web.asOwner()
  const { review, slug } = await startReview(owner)
  const { versionId } = await review.get()
  const place = {
    path: '/',
    selector: 'body > button',
    text: 'Order',
    before: 'Bread and cakes',
    after: 'Opening hours',
    width: 9,
    height: 9,
  }
  await review.createThread({ versionId, place, text: 'Too small' })
  await page.goto(web.url('/sites'))
  const toReview = page.locator('a[href*="/review?preview="]')
  assert.equal(await toReview.textContent(), '1 unresolved comment')
  await toReview.click()
  await openMark(page, frameOf(page).getByText('Order', { exact: true }))
  if (!isOutdated) {
    await owner.assertAccessibleInEveryVariant()
    await page.getByRole('button', { name: 'Request changes' }).click()
    await owner.assertAccessibleInEveryVariant()
    await page.keyboard.press('Escape')
    // The frame returns after the dialog; a page that it requests while its version is replaced is an error page.
    await frameOf(page).getByRole('button', { name: 'Order' }).waitFor()
  }
  await owner.client.publish({ slug, files: toFiles({ 'index.html': html }), preview: 'spring' })
  await page.getByRole('button', { name: 'Show it' }).click()
  if (!isOutdated) {
    await frameOf(page).locator('b').waitFor()
    await openMark(page, frameOf(page).locator('b'))
    return
  }
  await page.getByRole('button', { name: 'Outdated 1' }).click()
  await page.getByText('Too small').waitFor()
  await waitFor(async () => (await review.get()).counts.outdated === 1)
}

test('a review loads at most 35 KB of script beside that of the front page', requiresBrowser, async () => {
  const { owner } = await web.asOwner()
  const { link } = await startReview(owner)
  const { page } = await web.asVisitor('/')
  const readScripts = () =>
    page.evaluate(() =>
      (performance.getEntriesByType('resource') as PerformanceResourceTiming[])
        .filter(({ name }) => name.endsWith('.js'))
        .map(({ name, decodedBodySize }): [string, number] => [name, decodedBodySize]),
    )
  await page.getByRole('heading', { level: 1 }).waitFor()
  const shared = new Map(await readScripts())
  await page.goto(link)
  await frameOf(page).getByRole('button', { name: 'Order' }).waitFor()
  const own = (await readScripts()).filter(([name]) => !shared.has(name))
  assert.ok(own.length > 0)
  assert.match(own[0]![0], /early/, 'it requests the review first')
  const requests = await page.evaluate(() =>
    performance.getEntriesByType('resource').filter(({ name }) => /review\/open$|\/review$/.test(name)),
  )
  assert.equal(requests.length, 1, 'once')
  const bytes = own.reduce((sum, [, size]) => sum + size, 0)
  assert.ok(bytes <= 35_000, `${bytes} bytes: ${own.map((one) => one.join(' ')).join(', ')}`)
})

test(
  'a sentence is shown instead of what the frame shows after a link out of the review, and leads back',
  requiresBrowser,
  async () => {
    const { owner } = await web.asOwner()
    const { link } = await startReview(owner)
    const { page, visitor } = await openAsGuest(link)
    for (const name of ['Nowhere', 'About']) {
      // The view has ended before the last one.
      if (name === 'About') web.service.clock.now += 31 * MINUTE_MS
      await frameOf(page).getByRole('link', { name }).click()
      await page.getByText("The review can't follow this link.").waitFor()
      assert.equal(await page.locator('iframe').isVisible(), false)
      if (name === 'Nowhere') {
        await visitor.assertAccessibleInAllViewports()
        await page.getByRole('button', { name: 'Show it without marks' }).click()
        await page.locator('iframe').waitFor()
      }
      await page.getByRole('button', { name: 'Load the last page' }).click()
      await frameOf(page).getByRole('button', { name: 'Order' }).waitFor()
      await page.getByRole('button', { name: 'Load the last page' }).waitFor({ state: 'detached' })
    }
    // The browser does not show these pages in the frame.
    for (const line of visitor.complaints.splice(0))
      assert.match(line, /^Fram|^Failed to (?:load|execute 'postM)/)
  },
)

for (const [what, link, outcome] of [
  ['another site', 'href="https://other.test/"', 'out'],
  ['another site, for the whole window,', 'href="https://other.test/" target="_top"', 'out'],
  ['another site, for a new tab,', 'href="https://other.test/" target="_blank"', 'out'],
  ['an email address', 'href="mailto:bea@other.test"', 'out'],
  ['a download', 'href="/about.html" download', 'out'],
  ['a script for the whole window', `href="javascript:location='/about.html'" target="_top"`, 'out'],
  ['a file that the browser does not show', 'href="/files.zip"', 'unanswered'],
  ['a script that leads to another site', `href="javascript:location='https://other.test/'"`, 'unanswered'],
  ['a script that leads the whole window away', `href="javascript:top.location='/'"`, 'stays'],
  ['a script of the page', `href="javascript:void(document.body.append('It ran'))"`, 'runs'],
  ['a page of the site', 'href="/about.html"', 'opens'],
  ['a page of the site, for the whole window,', 'href="/about.html" target="_top"', 'opens'],
  ['a page of the site, for a new tab,', 'href="/about.html" target="_blank"', 'opens'],
] as const)
  test(`a link to ${what} keeps the reviewer on the review page: ${outcome}`, requiresBrowser, async () => {
    const { owner } = await web.asOwner()
    const html = PAGE('Order').replace('<p>', `<p><a ${link}>Follow</a></p><p>`)
    const content = { 'index.html': html, 'about.html': ABOUT, 'files.zip': 'PK' }
    const { slug } = await owner.client.publish({ files: toFiles(content) })
    const { page, visitor } = await openAsGuest((await owner.client.review(slug).createLink()).url)
    const left: string[] = []
    page.context().on('page', (opened) => left.push(opened.url()))
    page.on('download', (file) => left.push(file.url()))
    await frameOf(page).getByRole('link', { name: 'Follow' }).click()
    if (outcome === 'out') await page.getByText('This link does not open in a review').waitFor()
    if (outcome === 'unanswered') await page.getByText("The review can't follow this link.").waitFor()
    if (what === 'a script that leads to another site') {
      const isReport = ({ 'blocked-uri': uri }: Record<string, unknown>) => uri === 'https://other.test'
      await waitFor(() => web.service.log.some(isReport))
      assert.throws(() => web.assertPolicyKept(), 'the policy of the review page refuses to show it')
    }
    if (outcome === 'runs') await frameOf(page).getByText('It ran').waitFor()
    if (outcome === 'opens') await frameOf(page).getByText('About us').waitFor()
    else if (outcome !== 'unanswered') await frameOf(page).getByRole('button', { name: 'Order' }).click()
    assert.deepEqual([new URL(page.url()).pathname, left], ['/review', []])
    visitor.complaints.splice(0)
  })

test('the script of a page cannot begin a comment', requiresBrowser, async () => {
  const { owner } = await web.asOwner()
  const place = { path: '/', selector: 'h1', text: 'A lie', before: '', after: '', width: 9, height: 9 }
  const messages = JSON.stringify([{ type: 'ready', path: '/' }, { type: 'place', place }, { type: 'link' }])
  const script = `addEventListener('message', ({ ports: [port] }) => ${messages}.forEach((one) => port.postMessage(one)))`
  const html = `${PAGE('Order')}<script>${script}</script>`
  const { slug } = await owner.client.publish({ files: toFiles({ 'index.html': html }) })
  const { page } = await openAsGuest((await owner.client.review(slug).createLink()).url)
  await page.getByText('This link does not open in a review').waitFor()
  assert.equal(await page.getByLabel('Comment', { exact: true }).count(), 0)
})

test('a comment can be about a page as a whole, in every version of it', requiresBrowser, async () => {
  const { owner } = await web.asOwner()
  const { slug, review, link } = await startReview(owner)
  const { page } = await openAsGuest(link)
  await page.getByRole('button', { name: 'Comment', exact: true }).click()
  await page.getByText('With the keyboard').waitFor()
  await page.getByRole('button', { name: 'Comment on the whole page' }).press('Enter')
  await page.locator('textarea:focus').waitFor()
  await page.keyboard.type('Too long')
  await asksBeforeClosing(page)
  await page.getByRole('button', { name: 'Add comment' }).click()
  await page.getByRole('button', { name: 'Open 1' }).waitFor()
  await owner.client.publish({ slug, files: toFiles({ 'index.html': 'Another page' }), preview: 'spring' })
  await page.getByRole('button', { name: 'Show it' }).click()
  await frameOf(page).getByText('Another page').waitFor()
  await page.getByRole('button', { name: 'Show comment 1' }).click()
  assert.equal((await review.get()).counts.outdated, 0)
  const [{ place }] = (await review.get()).threads as [ReviewThread]
  assert.ok(place.width > 300 && place.height > 300)
})

test(
  'selected text, and threads of another page, are commented, opened, resolved and reopened at their place',
  requiresBrowser,
  async () => {
    const { owner } = await web.asOwner()
    const { review, link } = await startReview(owner)
    const { versionId } = await review.get()
    const place = { path: '/about.html', selector: 'h1', text: 'About us', before: '', after: '' }
    await review.createThread({
      versionId,
      place: { ...place, width: 9, height: 9 },
      text: 'https://other.test',
    })
    const { page, visitor } = await openAsGuest(link)
    const frame = frameOf(page)
    await page.getByRole('button', { name: 'Comment', exact: true }).click()
    const paragraph = frame.getByText('Opening hours')
    await paragraph.evaluate((element) =>
      getSelection()!.setBaseAndExtent(element.firstChild!, 8, element.firstChild!, 13),
    )
    await paragraph.dispatchEvent('click')
    await page.getByLabel('Comment', { exact: true }).fill('When?')
    await visitor.assertAccessibleInEveryVariant()
    await page.getByRole('button', { name: 'Add comment' }).click()
    await page.getByText('When?').waitFor()
    // Threads of one millisecond have no order.
    const selected = (await review.get()).threads.find((thread) => thread.place.path === '/')
    assert.equal(selected?.place.text, 'hours')
    assert.equal(await page.getByRole('link', { name: 'https://other.test' }).count(), 0, 'words are no link')
    const aboutOther = page.getByRole('list', { name: 'Comments on /about.html' })
    await aboutOther.getByRole('button', { name: /^Show comment/ }).click()
    const heading = frame.getByText('About us')
    await waitFor(() => heading.evaluate((one) => one.getBoundingClientRect().top < innerHeight))
    await aboutOther.getByRole('button', { name: 'Resolve' }).click()
    await page.getByRole('button', { name: 'Resolved 1' }).click()
    await aboutOther.getByRole('button', { name: 'Reopen' }).click()
    await page.getByRole('button', { name: 'Open 2' }).waitFor()
    await page.getByRole('button', { name: 'Request changes' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Request changes' }).click()
    await page.getByText('Changes requested', { exact: true }).waitFor()
    assert.equal((await review.get()).decision, 'changes-requested')
    await page.reload()
    await page.getByText('Changes requested', { exact: true }).waitFor()
    assert.equal(await page.getByLabel('Your name').inputValue(), 'Bea', 'the name is typed once')
  },
)

test(
  'a comment on selected words has them as they were written, also across elements, where a style changes them and after emoji',
  requiresBrowser,
  async () => {
    const { owner } = await web.asOwner()
    const { review, slug, link } = await startReview(owner)
    const html = PAGE('Order').replace(
      '<p>Bread',
      `${'🐑'.repeat(99)}<ul style="text-transform:uppercase"><li>Rye</li><li>Oats</li></ul><p>Bread`,
    )
    await owner.client.publish({ slug, files: toFiles({ 'index.html': html }), preview: 'spring' })
    const { page } = await openAsGuest(link)
    await page.getByRole('button', { name: 'Comment', exact: true }).click()
    const list = frameOf(page).locator('ul')
    await list.evaluate((one) => {
      const [first, last] = [...one.children].map((item) => item.firstChild!)
      getSelection()!.setBaseAndExtent(first!, 1, last!, 3)
    })
    await list.dispatchEvent('click')
    await page.getByLabel('Comment', { exact: true }).fill('Which?')
    await page.getByRole('button', { name: 'Add comment' }).click()
    await page.getByText('Which?').waitFor()
    const [{ place }] = (await review.get()).threads as [ReviewThread]
    const before = `${'🐑'.repeat(49)}R`
    assert.deepEqual([place.text, place.before, place.after.slice(0, 8)], ['yeOat', before, 'sBread a'])
  },
)

test(
  'comments on one place have marks beside each other, and one on a hidden element has none',
  requiresBrowser,
  async () => {
    const { owner } = await web.asOwner()
    const { review, slug, link } = await startReview(owner)
    const html = PAGE('Order').replace('<a ', '<p hidden>Late</p><a ')
    await owner.client.publish({ slug, files: toFiles({ 'index.html': html }), preview: 'spring' })
    const { versionId } = await review.get()
    const place = { path: '/', text: '', before: '', after: '', width: 9, height: 9 }
    for (const selector of ['[hidden]', 'button', 'button'])
      await review.createThread({ versionId, place: { ...place, selector }, text: `About ${selector}` })
    const { page } = await openAsGuest(link)
    const button = frameOf(page).getByRole('button', { name: 'Order' })
    const { x, y, width } = await button.evaluate((one) => one.getBoundingClientRect().toJSON())
    // The page sees the element that contains all marks, and not which of them is there.
    const isMarked = (left: number, top: number) =>
      button.evaluate(
        ({ ownerDocument }, [x, y]) =>
          ownerDocument.elementFromPoint(x!, y!)?.parentElement === ownerDocument.documentElement,
        [left, top],
      )
    await waitFor(() => isMarked(x + width + 8, y))
    assert.equal(await isMarked(x + width - 18, y), true)
    assert.equal(await isMarked(8, 8), false)
    assert.equal((await review.get()).counts.outdated, 0)
  },
)

test('arrow keys reach an element whose text is in its shadow tree', requiresBrowser, async () => {
  const { owner } = await web.asOwner()
  const { review, slug, link } = await startReview(owner)
  const card = `<my-card></my-card><script>
    document.querySelector('my-card').attachShadow({ mode: 'open' }).innerHTML = '<p>Fresh today</p>'</script><h1>`
  const html = PAGE('Order').replace('<h1>', card)
  await owner.client.publish({ slug, files: toFiles({ 'index.html': html }), preview: 'spring' })
  const { page } = await openAsGuest(link)
  await page.getByRole('button', { name: 'Comment', exact: true }).press('Enter')
  await frameOf(page).locator('html[style*="crosshair"]').waitFor()
  for (const key of ['ArrowDown', 'Enter']) await page.keyboard.press(key)
  await page.getByLabel('Comment', { exact: true }).fill('Stale')
  await page.getByRole('button', { name: 'Add comment' }).press('Enter')
  await page.getByText('Stale').waitFor()
  assert.equal((await review.get()).threads[0]!.place.selector, 'body > my-card')
})

test(
  'a link of a key of scope publish is for comments, and the owner sees who created it',
  requiresBrowser,
  async () => {
    const { owner, page: own } = await web.asOwner()
    const { slug } = await startReview(owner)
    const { apiKey } = await owner.client.createKey({ name: 'ci', scope: 'publish' })
    const { url } = await owner.client.with({ key: apiKey }).review(slug, 'spring').createLink()
    const { page } = await openAsGuest(url)
    await page.getByText('This link is for comments.').waitFor()
    assert.ok(await page.getByRole('button', { name: 'Approve' }).isDisabled())
    await own.goto(web.url(`/sites/${slug}/review?preview=spring`))
    const links = own.getByRole('list', { name: 'Review links' })
    await links.getByText(`by ${owner.email}`).first().waitFor()
    await own.goto(web.url(`/sites/${slug}/review?preview=winter`))
    await own.getByText('The preview winter is deleted').waitFor()
  },
)

test(
  'a decision is about a content, in whatever review of the site it was made',
  requiresBrowser,
  async () => {
    const { owner } = await web.asOwner()
    const { slug, review } = await startReview(owner)
    await owner.client.publish({ slug, files: files('Order'), preview: 'autumn' })
    const other = owner.client.review(slug, 'autumn')
    const { versionId } = await review.get()
    await review.decide({ decision: 'approved', versionId })
    const { page } = await openAsGuest((await other.createLink()).url)
    await page.getByText('Approved', { exact: true }).waitFor()
    await page.getByText('In another review, for the same content.').waitFor()
    const { page: own } = owner
    await own.goto(web.url(`/sites/${slug}/review?preview=autumn`))
    await own.getByText('Approved', { exact: true }).waitFor()
    assert.equal(await own.getByText('the approval of a collaborator').count(), 0)
    await owner.client.setMetadata(slug, { requireApproval: 'collaborators' })
    await own.reload()
    await own.getByText('To be promoted, it needs the approval of a collaborator.').waitFor()
    web.service.clock.now += MINUTE_MS
    await other.decide({ decision: 'changes-requested', versionId: (await other.get()).versionId })
    assert.equal((await review.get()).decision, 'changes-requested')
    await page.getByText('Changes requested', { exact: true }).waitFor()
    await page.locator('.badge').getByText('Owner').waitFor()
  },
)

test(
  'text that is typed in a review stays when others resolve and publish, and while earlier text is sent',
  requiresBrowser,
  async () => {
    const { owner } = await web.asOwner()
    const { slug, review, link } = await startReview(owner)
    const { page } = await openAsGuest(link)
    const place = { path: '/', selector: 'body', text: '', before: '', after: '', width: 9, height: 9 }
    const { versionId } = await review.get()
    const { id } = await review.createThread({ versionId, place, text: 'Too long' })
    await page.getByRole('button', { name: 'Show comment 1' }).click()
    await page.getByLabel('Reply').fill('Shorter')
    await page.getByRole('button', { name: 'Comment', exact: true }).click()
    await page.getByRole('button', { name: 'Comment on the whole page' }).click()
    await page.getByLabel('Comment', { exact: true }).fill('Too bright')
    await review.addToThread(id, { status: 'resolved' })
    await page.getByRole('button', { name: 'Resolved 1' }).waitFor()
    const decide = page.getByRole('button', { name: 'Request changes' })
    await decide.click()
    const note = page.getByLabel('Note (optional)')
    await note.fill('Not yet')
    await owner.client.publish({ slug, files: files('Pay'), preview: 'spring' })
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Request changes' }).click()
    await dialog.getByText('Show the newer version, then decide about it.').waitFor()
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('button', { name: 'Show it' }).click()
    await decide.click()
    assert.equal(await note.inputValue(), 'Not yet')
    await dialog.getByRole('button', { name: 'Request changes' }).click()
    await page.getByText('Not yet').and(page.locator('bdi')).waitFor()
    await page.locator('.badge').getByText('Guest').first().waitFor()
    await frameOf(page).getByRole('button', { name: 'Pay' }).waitFor()
    assert.equal(await page.getByLabel('Comment', { exact: true }).inputValue(), 'Too bright')
    const reply = page.getByLabel('Reply')
    await typeWhileSending(page, '**/review/threads/*', {
      send: () => page.getByRole('button', { name: 'Reply' }).click(),
      type: () => reply.fill('Or wider'),
    })
    await page.getByText('Shorter').and(page.locator('bdi')).waitFor()
    assert.equal(await reply.inputValue(), 'Or wider')
    await reply.fill('')
    await asksBeforeClosing(page)
    const comment = page.getByLabel('Comment', { exact: true })
    const add = page.getByRole('button', { name: 'Add comment' })
    await typeWhileSending(page, '**/review/threads', {
      send: () => add.click(),
      type: () => comment.fill('Too dark'),
    })
    await page.getByText('Too bright').and(page.locator('bdi')).waitFor()
    assert.equal(await comment.inputValue(), 'Too dark')
    await typeWhileSending(page, '**/review/threads', {
      send: () => add.click(),
      type: async () => {
        await page.getByRole('button', { name: 'Comment', exact: true }).click()
        await page.getByRole('button', { name: 'Comment on the whole page' }).click()
      },
    })
    await page.getByText('Too dark').and(page.locator('bdi')).waitFor()
    assert.equal(await comment.inputValue(), '')
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.reload()
    await page.getByRole('button', { name: 'Open 2' }).waitFor()
  },
)

test('a link for collaborators leads through a sign-in back to the review', requiresBrowser, async () => {
  const { owner } = await web.asOwner()
  const { slug, review } = await startReview(owner)
  const { url } = await review.createLink({ audience: 'collaborators' })
  const { page } = await web.asVisitor()
  await page.goto(url)
  await page.getByRole('main').getByRole('link', { name: 'Sign in' }).click()
  const email = newAddress()
  await web.askForCode(page, email)
  await web.writeCode(page, email)
  await page.getByRole('alert').getByText('Ask the owner to add your address').waitFor()
  await owner.client.addCollaborator(slug, email)
  await page.getByRole('button', { name: 'Try again' }).click()
  await frameOf(page).getByRole('button', { name: 'Order' }).waitFor()
  await page.getByRole('button', { name: 'Approve' }).click()
  await owner.client.publish({ slug, files: files('Pay'), preview: 'spring' })
  await page.getByRole('dialog').getByRole('button', { name: 'Approve' }).click()
  await page.getByText('Show the newer version, then decide about it.').waitFor()
})

test('a review page learns that its link was revoked', requiresBrowser, async () => {
  const { owner } = await web.asOwner()
  const { review, link } = await startReview(owner)
  const { page } = await openAsGuest(link)
  const [given] = (await review.get()).links!
  await page.getByRole('button', { name: 'Comment', exact: true }).click()
  await frameOf(page).getByText('Opening hours').click()
  await page.getByLabel('Comment', { exact: true }).fill('And Sundays?')
  await review.revokeLink(given!.id)
  await page.getByRole('alert').filter({ hasText: 'Ask the person who sent it' }).waitFor()
  await page.getByText('You can no longer comment here.').waitFor()
  for (const name of ['Comment', 'Approve', 'Request changes', 'Add comment'])
    assert.equal(await page.getByRole('button', { name, exact: true }).isDisabled(), true, name)
  assert.equal(await page.getByLabel('Comment', { exact: true }).inputValue(), 'And Sundays?')
})

test('a review for collaborators is shown until its reader signs out', requiresBrowser, async () => {
  const { owner } = await web.asOwner()
  const { review } = await startReview(owner)
  const { versionId } = await review.get()
  await review.decide({ decision: 'approved', versionId, note: 'From ten' })
  const { url } = await review.createLink({ audience: 'collaborators' })
  const { page } = owner
  await page.goto(url)
  await page.getByText('From ten').waitFor()
  await page.context().clearCookies()
  const tab = await page.context().newPage()
  await tab.goto(web.url('/'))
  await tab.evaluate(() => localStorage.removeItem('slipway.signed-in'))
  await page.getByRole('alert').waitFor()
  assert.equal(await page.getByText('From ten').count(), 0)
})

test(
  'a review of a deleted site continues when the site is restored, by a retry',
  requiresBrowser,
  async () => {
    const { owner } = await web.asOwner()
    const { slug } = await startReview(owner)
    const { client } = owner
    const { url } = await client.review(slug).createLink()
    const { page } = await web.asVisitor()
    await page.goto(url)
    await frameOf(page).getByRole('button', { name: 'Buy' }).waitFor()
    await client.delete(slug)
    await page.getByRole('alert').waitFor()
    await client.undelete(slug)
    web.service.clock.now += MINUTE_MS
    const loaded = page.waitForEvent('framenavigated')
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByRole('alert').waitFor({ state: 'detached' })
    await loaded
    await client.publish({ slug, files: files('Pay') })
    await page.getByRole('button', { name: 'Show it' }).click()
    await frameOf(page).getByRole('button', { name: 'Pay' }).waitFor()
  },
)

test(
  'a review shows what others write while it sends a comment, and afterwards',
  requiresBrowser,
  async () => {
    const { owner } = await web.asOwner()
    const { review, link } = await startReview(owner)
    const { page } = await openAsGuest(link)
    const [loading, sent] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    // The page loads the review, because it has changed, before it has the response to its own change.
    await page.route('**/previews/spring/review', async (route) => {
      const response = await route.fetch()
      loading.resolve()
      await sent.promise
      await route.fulfill({ response })
    })
    await page.route('**/review/threads', async (route) => {
      const response = await route.fetch()
      await loading.promise
      await route.fulfill({ response })
    })
    await page.getByRole('button', { name: 'Comment', exact: true }).click()
    await frameOf(page).getByText('Opening hours').click()
    await page.getByLabel('Comment', { exact: true }).fill('And Sundays?')
    await page.getByRole('button', { name: 'Add comment' }).click()
    await page.getByText('And Sundays?').waitFor()
    sent.resolve()
    const [thread] = (await review.get()).threads
    await review.addToThread(thread!.id, { text: 'From ten' })
    await page.getByText('From ten').waitFor()

    await page.getByLabel('Reply').fill('Until noon')
    const loaded = page.waitForResponse('**/review/open')
    await signInElsewhere(web, page.context())
    await (await loaded).finished()
    await page.getByRole('button', { name: 'Reply' }).click()
    await page.getByText('Until noon').and(page.locator('bdi')).waitFor()
    await review.addToThread(thread!.id, { text: 'At the latest' })
    await page.getByText('At the latest').waitFor()
  },
)

test(
  'a preview that was published since the list of previews was loaded is not shown as deleted',
  requiresBrowser,
  async () => {
    const { page, owner } = await web.asOwner()
    const { slug } = await startReview(owner)
    await page.goto(web.url(`/sites/${slug}/review`))
    await page.getByLabel('Reviewed version').waitFor()
    await owner.client.publish({ slug, files: files('Later'), preview: 'later' })
    const review = owner.client.review(slug, 'later')
    const place = { path: '/', selector: 'body', text: '', before: '', after: '', width: 9, height: 9 }
    await review.createThread({ versionId: (await review.get()).versionId, place, text: 'Too big' })
    await page.getByRole('link', { name: 'Sites' }).first().click()
    await page.locator('a[href*="preview=later"]').click()
    await frameOf(page).getByRole('button', { name: 'Later' }).waitFor()
    assert.equal(await page.getByText('is deleted').count(), 0)
    await page.goto(web.url(`/sites/${slug}/review?preview=never`))
    await page.getByText('The preview never is deleted').waitFor()
  },
)

test(
  'each review link is revoked after a question; a note outlives its dialog; focus stays in the page',
  requiresBrowser,
  async () => {
    const { page, owner } = await web.asOwner()
    const { slug, review } = await startReview(owner)
    await review.createLink()
    await page.goto(web.url(`/sites/${slug}/review?preview=spring`))
    const links = page.getByRole('list', { name: 'Review links' }).getByRole('listitem')
    const question = page.getByRole('dialog', { name: 'Revoke this link?' })
    for (const left of [1, 0]) {
      await links.first().getByRole('button').click()
      await question.getByText("It can't be restored.").waitFor()
      await question.getByRole('button', { name: 'Revoke link' }).click()
      await question.waitFor({ state: 'detached' })
      assert.equal(await links.count(), left)
      assert.notEqual(await page.evaluate(() => document.activeElement?.localName), 'body')
    }
    const decide = page.getByRole('button', { name: 'Request changes' })
    const note = page.getByLabel('Note (optional)')
    await decide.click()
    await note.fill('Not yet')
    await page.keyboard.press('Escape')
    await note.waitFor({ state: 'detached' })
    await decide.click()
    assert.equal(await note.inputValue(), 'Not yet')
    await note.fill('')
    // The frame, whose size is noted with a comment, returns after the dialog with a new grant.
    const grant = await hold(page, '**/previews/spring/review')
    await page.keyboard.press('Escape')
    await grant.first
    await page.getByRole('button', { name: 'Comment', exact: true }).click()
    const whole = page.getByRole('button', { name: 'Comment on the whole page' })
    await whole.and(page.locator('[aria-disabled=true]')).waitFor()
    grant.release()
    await whole.click()
    await page.getByRole('button', { name: 'Cancel' }).focus()
    await page.keyboard.press('Enter')
    await page.locator('.composer').waitFor({ state: 'detached' })
    assert.notEqual(await page.evaluate(() => document.activeElement?.localName), 'body')
    // The grant of the frame ended with the links.
    owner.complaints.splice(0)
  },
)
