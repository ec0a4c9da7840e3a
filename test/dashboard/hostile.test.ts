import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { filesOf } from '../api/content.ts'
import { inBrowser, Web } from './person.ts'

let web: Web

before(async () => {
  web = await Web.open()
})

after(() => web[Symbol.asyncDispose]())

/** Reaches for the keyboard as often as the browser paints, and says in its address how often that was. */
const GRASPING = `<!doctype html><title>Grasping</title><input id="field"><script>
  let times = 0
  const grasp = () => {
    field.blur()
    field.focus()
    history.replaceState(null, '', '#' + ++times)
    requestAnimationFrame(grasp)
  }
  grasp()
</script>`

describe('a site in a preview', inBrowser, () => {
  test('runs no script beside what somebody types who is asked to claim it', async () => {
    await using visitor = await web.visitor()
    const { page } = visitor
    const { claimUrl } = await web.service.client().publish({ files: filesOf({ 'index.html': GRASPING }) })
    await page.goto(claimUrl!)
    const field = page.frameLocator('iframe').locator('#field')
    await field.waitFor()
    await page.getByLabel('Your email address').click()
    await page.keyboard.type('ada@example.test')
    assert.equal(await page.getByLabel('Your email address').inputValue(), 'ada@example.test')
    assert.equal(await field.inputValue(), '')
    assert.equal(
      await page
        .frames()[1]!
        .evaluate(() => location.hash)
        .catch(() => ''),
      '',
    )
  })

  test('does not take the keyboard from its owner, however often it tries', async () => {
    await using owner = await web.owner()
    const { page } = owner.visitor
    const { slug } = await web.service
      .client(owner.key)
      .publish({ files: filesOf({ 'index.html': GRASPING }) })
    await page.goto(`${web.service.baseUrl}/sites/${slug}`)
    const button = page.getByRole('button', { name: 'Choose files or a zip' })
    await button.focus()
    await page.frameLocator('iframe').locator('#field').waitFor()
    const preview = page.frames()[1]!
    await preview.waitForURL(/#\d{2,}$/)
    const choosing = page.waitForEvent('filechooser')
    await page.keyboard.press('Enter')
    await choosing
  })
})
