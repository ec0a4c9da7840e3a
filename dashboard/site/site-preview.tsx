import type { SiteDetails } from '../../protocol/api/sites.schema.ts'
import { useResource } from '../api/resource.ts'
import { slipway } from '../api/slipway.ts'
import { LiveFrame } from '../kit/live-frame.tsx'
import { ErrorNotice } from '../kit/notice.tsx'
import { Loading } from '../kit/skeleton.tsx'

interface SitePreviewProps {
  site: Pick<SiteDetails, 'slug' | 'hasPassword'>
  /** The URL of the version. */
  address: string
  /** Accessible name. */
  title: string
  version: string
}

/** A version in a frame. The owner sees a site with a password by a signed URL, without entering the password. */
export function SitePreview({ site, address, title, version }: SitePreviewProps) {
  const { slug, hasPassword } = site
  const link = useResource(hasPassword ? `site/${slug}/preview/${version}` : undefined, () =>
    slipway.previewLink(slug, version),
  )
  const src = hasPassword ? link.value?.url : address
  if (src !== undefined) return <LiveFrame src={src} title={title} version={version} />
  if (link.error) return <ErrorNotice error={link.error} onRetry={link.reload} />
  return <Loading what="the preview" shape="picture" />
}
