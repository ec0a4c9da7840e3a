import { chromium as engine, type Page, type Browser as PlaywrightBrowser } from 'playwright-core'
import { program } from '../../scripts/program.mjs'

export interface Browser extends AsyncDisposable {
  page: Page
  /** What went wrong in the page, each in one line: errors in its console or its scripts, requests that failed. */
  complaints: string[]
}

const FLAGS = [
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/**
 * Opens a page of a real browser without a window, with a profile of its own; a test says `needs('chromium')`.
 * Chromium itself takes every name under localhost for loopback, so that `http://slug.localhost:port/` works.
 */
export async function openBrowser(...flags: string[]): Promise<Browser> {
  const browser = await launchChromium(...flags)
  const page = await browser.newPage()
  const complaints: string[] = []
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(`console: ${message.text()} (${message.location().url})`)
  })
  page.on('pageerror', (error) => complaints.push(`script: ${error.message}`))
  page.on('requestfailed', (request) => {
    complaints.push(`request: ${request.method()} ${request.url()} ${request.failure()?.errorText}`)
  })
  return { page, complaints, [Symbol.asyncDispose]: () => browser.close() }
}

/** Starts Chromium without a page, for contexts of one's own. */
export function launchChromium(...flags: string[]): Promise<PlaywrightBrowser> {
  return engine.launch({
    executablePath: program('chromium')!,
    headless: true,
    chromiumSandbox: false,
    args: [...FLAGS, ...flags],
  })
}
