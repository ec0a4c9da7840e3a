// Previews: versions of a site with a name and a URL that stays the same.

import type { PreviewAddress } from './publish.ts'
import type { VersionSummary } from './sites.ts'

/** A preview with the version that it shows, compared with the live one. */
export interface Preview extends PreviewAddress, Omit<VersionSummary, 'preview'> {}

/** `GET …/:slug/previews`. */
export interface PreviewList {
  slug: string
  /** The last changed one first. */
  previews: Preview[]
}

/** `DELETE …/:slug/previews/:name`. */
export interface DeletePreviewResponse {
  slug: string
  name: string
  deleted: true
}
