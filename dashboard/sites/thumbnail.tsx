import { useState } from 'preact/hooks'
import type { SiteKind, SiteSummary } from '../../protocol/api/sites.ts'
import { Icon, type IconName } from '../kit/icon.tsx'

const ICONS: Record<SiteKind, IconName> = {
  page: 'page',
  image: 'image',
  video: 'video',
  audio: 'audio',
  document: 'document',
  files: 'files',
}

/** A site's image, otherwise an icon of its kind. Its title is beside it. */
export function Thumbnail({ site: { imageUrl, kind } }: { site: Pick<SiteSummary, 'imageUrl' | 'kind'> }) {
  const [broken, setBroken] = useState<string | null>(null)
  return (
    <div class="thumbnail">
      {imageUrl && imageUrl !== broken ? (
        <img
          src={imageUrl}
          alt=""
          loading="lazy"
          decoding="async"
          referrerpolicy="no-referrer"
          onError={() => setBroken(imageUrl)}
        />
      ) : (
        <Icon name={kind ? ICONS[kind] : 'clock'} size={24} />
      )}
    </div>
  )
}
