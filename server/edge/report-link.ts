import { hash } from 'node:crypto'
import { hostName } from '../../packages/http-server/host-name.ts'
import type { HttpRequest } from '../../packages/http-server/http-handler.ts'
import { html } from '../lib/html.ts'
import type { UrlBuilder } from '../sites/urls.ts'
import type { Tail } from './respond/pages/generated-page.ts'
import { type EdgeResponse, seeOther } from './response.ts'

const STYLE =
  'all:initial;position:fixed;right:8px;bottom:8px;z-index:2147483647;padding:4px 8px;border-radius:4px;background:#fff;color:#555;font:12px system-ui,sans-serif;text-decoration:underline;cursor:pointer'

export function reportLink(url: string): Tail {
  return {
    html: Buffer.from(
      html`\n<a href="${url}" target="_top" rel="nofollow" style="${STYLE}">Report abuse</a>\n`.text,
    ),
    isVisible: true,
    styleSources: ["'unsafe-hashes'", `'sha256-${hash('sha256', STYLE, 'base64')}'`],
  }
}

/** Leads to the form that reports the page named by the request, or the root of the host. */
export function redirectToReport({ host, headers }: HttpRequest, addresses: UrlBuilder): EdgeResponse {
  const root = `${addresses.customDomainOrigin(hostName(host))}/`
  const { referer = '' } = headers
  const page = referer.startsWith(root) ? referer : root
  return seeOther(addresses.report(page))
}
