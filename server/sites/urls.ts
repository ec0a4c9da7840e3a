import { Component } from '../lib/component.ts'
import type { VersionHeader } from '../store/tables/versions.ts'

/** `siteUrl` takes scheme and port of `{base_url}` (contract, "Serving"). */
export class UrlBuilder extends Component<{ baseUrl: string; siteDomain: string }> {
  readonly base = this.parts.baseUrl
  readonly siteDomain = this.parts.siteDomain
  readonly #url = new URL(this.base)
  readonly #scheme = this.#url.protocol
  readonly #port = this.#url.port && `:${this.#url.port}`

  /** `https://<slug>.{site_domain}/` (spec 2.1). */
  site(slug: string): string {
    return `${this.#scheme}//${slug}.${this.siteDomain}${this.#port}/`
  }

  /** Percent-encoded (RFC 3986, 3.3). */
  file(slug: string, path: string): string {
    return this.site(slug) + path.split('/').map(encodeURIComponent).join('/')
  }

  /** Contract, "Serving". */
  preview(slug: string, versionId: string): string {
    return this.site(`${versionId}--${slug}`)
  }

  previewFile(slug: string, versionId: string, path: string): string {
    return this.file(`${versionId}--${slug}`, path)
  }

  /** Null without a thumbnail. A new picture has another URL, so that caches can keep it. */
  thumbnail({ slug, id, thumbnailHash }: VersionHeader): string | null {
    if (thumbnailHash === null) return null
    return `${this.base}/api/v1/publish/${slug}/versions/${id}/thumbnail?v=${thumbnailHash.slice(0, 16)}`
  }

  /** Behind a proxy: scheme and port of the service. */
  customDomainOrigin(domain: string): string {
    return `${this.#scheme}//${domain}${this.#port}`
  }

  finalize(slug: string): string {
    return `${this.base}/api/v1/publish/${slug}/finalize`
  }

  report(url: string): string {
    return `${this.base}/report?url=${encodeURIComponent(url)}`
  }

  claim(slug: string, token: string): string {
    return `${this.base}/claim?slug=${slug}&token=${token}`
  }
}
