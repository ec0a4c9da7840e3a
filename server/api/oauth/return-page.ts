import { isLoopbackUrl } from '../../../protocol/loopback.ts'
import { returnTarget } from '../../accounts/oauth/programs.ts'
import type { ErrorPages } from '../../edge/respond/pages/error-pages.ts'
import type { EdgeResponse } from '../../edge/response.ts'
import { html } from '../../lib/html.ts'

/** The address of the page is a part of a request for access. */
const HEADERS = ['Referrer-Policy', 'no-referrer', 'X-Robots-Tag', 'noindex']

/** Whether a redirect leads to a page of the service, or to this device. */
export function isOwnRedirect(location: string): boolean {
  return /^\/(?!\/)/.test(location) || (/^https?:/i.test(location) && isLoopbackUrl(location))
}

/** Whether a redirect has the code of an access that its user has allowed. */
export function hasCode(location: string): boolean {
  const { searchParams } = new URL(location)
  return searchParams.has('code') && !searchParams.has('error')
}

/** In place of a redirect to an address that a stranger has registered: the user decides (RFC 9700, 4.11.2). */
export function renderReturn(pages: ErrorPages, location: string): EdgeResponse {
  const { searchParams, hash } = new URL(location)
  const parameters = new URLSearchParams([...searchParams, ...new URLSearchParams(hash.slice(1))])
  const target = returnTarget(location)
  const program = html`The program at <strong>${target}</strong>`
  const content =
    parameters.get('error') === 'access_denied'
      ? html`<h1>Access denied</h1>
<p>${program} got no access to your account. Return to it?</p>`
      : html`<h1>Invalid request</h1>
<p>${program} sent an invalid request. Return to it?</p>
<p>${describe(parameters)}</p>`
  return render(
    pages,
    html`${content}
<p><a href="${location}" rel="noreferrer">Return to ${target}</a></p>`,
  )
}

export function renderProblem(pages: ErrorPages, problem: string): EdgeResponse {
  return render(
    pages,
    html`<h1>Invalid request</h1>
<p>The program sent a request that cannot be answered. Return to it and connect again.</p>
<p>${problem}</p>`,
  )
}

function render(pages: ErrorPages, main: ReturnType<typeof html>): EdgeResponse {
  return pages.render({ status: 400, language: 'en', title: 'Connect a program', main, headers: HEADERS })
}

function describe(parameters: URLSearchParams): string {
  return `${parameters.get('error')}: ${parameters.get('error_description') ?? ''}`
}
