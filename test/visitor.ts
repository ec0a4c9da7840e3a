import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core'

/** The windows in which every page must look right. */
export const LOOKS: { name: string; options: BrowserContextOptions }[] = [360, 1280].flatMap((width) =>
  (['light', 'dark'] as const).map((colorScheme) => ({
    name: `${width} px wide, ${colorScheme}`,
    options: { viewport: { width, height: 800 }, colorScheme },
  })),
)

/** Somebody with a browser of their own, who notices what is wrong with a page. */
export class Visitor implements AsyncDisposable {
  readonly context: BrowserContext
  readonly page: Page
  /** What the browser's console complained about: errors, refused contents, broken requests. */
  readonly complaints: string[] = []

  static async open(browser: Browser, options: BrowserContextOptions = {}): Promise<Visitor> {
    const context = await browser.newContext(options)
    return new Visitor(context, await context.newPage())
  }

  private constructor(context: BrowserContext, page: Page) {
    this.context = context
    this.page = page
    page.setDefaultTimeout(15_000)
    page.on('pageerror', (error) => this.complaints.push(String(error)))
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) this.complaints.push(message.text())
    })
  }

  assertNoComplaints(): void {
    assert.deepEqual(this.complaints, [])
  }

  /** WCAG 2.2, as far as it shows in what is on the page now: contrast, names, headings, and nothing cut off. */
  async assertReadable(): Promise<void> {
    assert.deepEqual(await this.page.evaluate(faults), [])
  }

  /** WCAG 2.2, level AA, as far as axe can tell; with what `assertReadable` looks for. */
  async assertAccessible(): Promise<void> {
    await this.assertReadable()
    await this.page.evaluate(axe)
    const violations = await this.page.evaluate(violationsOf, [
      'wcag2a',
      'wcag2aa',
      'wcag21a',
      'wcag21aa',
      'wcag22aa',
      'best-practice',
    ])
    const found = violations.map(
      ({ id, help, nodes }) => `${id}: ${help}: ${nodes.map(({ html }) => html).join(' ')}`,
    )
    assert.deepEqual(found, [])
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.context.close()
  }
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** Runs in the page, where axe is by then. */
async function violationsOf(tags: string[]) {
  const { axe } = globalThis as unknown as {
    axe: { run(root: Document, options: object): Promise<{ violations: Violation[] }> }
  }
  return (await axe.run(document, { runOnly: tags })).violations
}

interface Violation {
  id: string
  help: string
  nodes: { html: string }[]
}

/** Runs in the page, so that everything it uses stands inside it. */
function faults(): string[] {
  const shown = [...document.body.querySelectorAll<HTMLElement>('*')].filter((element) =>
    element.checkVisibility(),
  )
  const headings = shown.filter((element) => /^H[1-6]$/.test(element.tagName))
  return [
    ...(document.documentElement.scrollWidth > innerWidth ? ['the page is wider than the window'] : []),
    ...(document.documentElement.lang ? [] : ['the page has no language']),
    ...(document.querySelector('main') ? [] : ['the page has no main part']),
    ...(headings.filter((heading) => heading.tagName === 'H1').length === 1
      ? []
      : ['there is not one first heading']),
    ...headings.filter(skipsLevel).map((heading) => `${named(heading)} skips a level`),
    ...shown.filter(isNameless).map((element) => `${named(element)} has no name`),
    ...shown.filter(isSmallTarget).map((element) => `${named(element)} is hard to hit`),
    ...shown.filter(isPale).map((element) => `${named(element)} is pale: ${contrast(element).toFixed(2)}`),
  ]

  function named(element: HTMLElement): string {
    return `<${element.tagName.toLowerCase()}> ${element.textContent.slice(0, 40)}`
  }

  function skipsLevel(heading: HTMLElement, index: number): boolean {
    const before = headings[index - 1]
    return before !== undefined && Number(heading.tagName[1]) > Number(before.tagName[1]) + 1
  }

  function isNameless(element: HTMLElement): boolean {
    if (element instanceof HTMLInputElement) return (element.labels?.length ?? 0) === 0
    if (element instanceof HTMLImageElement) return !element.hasAttribute('alt')
    return element.matches('a, button') && element.textContent.trim() === ''
  }

  /** 2.5.8: 24 by 24 pixels, unless it stands in a line of text. */
  function isSmallTarget(element: HTMLElement): boolean {
    if (!element.matches('a, button, input, summary') || getComputedStyle(element).display === 'inline')
      return false
    const { width, height } = element.getBoundingClientRect()
    return width < 24 || height < 24
  }

  /** 1.4.3: 4.5 to 1, and 3 to 1 for large text. */
  function isPale(element: HTMLElement): boolean {
    const writes = [...element.childNodes].some(
      (node) => node.nodeType === Node.TEXT_NODE && node.textContent?.trim(),
    )
    const { fontSize, fontWeight } = getComputedStyle(element)
    const pixels = Number.parseFloat(fontSize)
    const isLarge = pixels >= 24 || (pixels >= 18.66 && Number(fontWeight) >= 700)
    return writes && contrast(element) < (isLarge ? 3 : 4.5)
  }

  function contrast(element: HTMLElement): number {
    const [text, ground] = [luminance(getComputedStyle(element).color), luminance(groundOf(element))]
    return (Math.max(text, ground) + 0.05) / (Math.min(text, ground) + 0.05)
  }

  function groundOf(element: HTMLElement | null): string {
    if (element === null) return 'rgb(255, 255, 255)'
    const { backgroundColor } = getComputedStyle(element)
    return backgroundColor === 'rgba(0, 0, 0, 0)' ? groundOf(element.parentElement) : backgroundColor
  }

  function luminance(colour: string): number {
    const [red = 0, green = 0, blue = 0] = (colour.match(/[\d.]+/g) ?? []).map((value) => {
      const share = Number(value) / 255
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
    })
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
  }
}
