import assert from 'node:assert/strict'
import { isDeepStrictEqual } from 'node:util'
import type { Locator, Page } from 'playwright-core'

/** Uses a switch by mouse, keys and label: each use changes its state, and it shows its state, however that was reached. */
export async function assertSwitchMoves(page: Page, element: Locator): Promise<void> {
  const label = page.locator(`label[for="${await element.getAttribute('id')}"]`)
  const uses = [
    () => element.click(),
    () => element.press(' '),
    () => element.press('Enter'),
    () => label.click(),
  ]
  const shown = new Map<boolean, string>()
  for (const use of [...uses, ...uses]) {
    const wasOn = (await element.getAttribute('aria-checked')) === 'true'
    await use()
    await element.and(page.locator(`[aria-checked="${!wasOn}"][aria-disabled="false"]`)).waitFor()
    const picture = await paintedWithin(page, element)
    assert.equal(picture, shown.get(!wasOn) ?? picture, wasOn ? 'off' : 'on')
    shown.set(!wasOn, picture)
  }
  assert.notEqual(shown.get(true), shown.get(false))
}

/** What is painted in an element but for its edges, where a focus ring may be. */
async function paintedWithin(page: Page, element: Locator): Promise<string> {
  const inset = 4
  for (;;) {
    await element.scrollIntoViewIfNeeded()
    const box = (await element.boundingBox())!
    const clip = {
      x: Math.ceil(box.x) + inset,
      y: Math.ceil(box.y) + inset,
      width: Math.floor(box.width) - 2 * inset,
      height: Math.floor(box.height) - 2 * inset,
    }
    const picture = await page.screenshot({ clip, animations: 'disabled' })
    // What the page has just received, such as a name that is available, may have moved it.
    if (isDeepStrictEqual(await element.boundingBox(), box)) return picture.toString('base64')
  }
}
