import { useState } from 'preact/hooks'
import type { FileEntry } from '../../protocol/api/publish.ts'
import type { SiteDetails } from '../../protocol/api/sites.ts'
import { pluralize } from '../../protocol/format.ts'
import { Button } from '../kit/button.tsx'
import { Dialog } from '../kit/dialog.tsx'
import { TextField } from '../kit/field.tsx'
import { Icon } from '../kit/icon.tsx'
import { findPictures, pictureUrl } from './picture-address.ts'

interface PictureProps {
  site: SiteDetails
  /** Path of the selected one. */
  value: string | null
  onChange: (path: string | null) => void
}

/** Selects one of the site's images for its link preview. */
export function PictureChoice({ site, value, onChange }: PictureProps) {
  const [choosing, choose] = useState(false)
  const pictures = findPictures(site)
  const end = (path: string) => {
    onChange(path)
    choose(false)
  }
  return (
    <div class="field">
      <h3>Picture</h3>
      <p class={value === null ? 'quiet' : 'path'}>
        {value ?? (pictures.length > 0 ? 'As the document says.' : NO_PICTURES)}
      </p>
      {value !== null && !pictures.some(({ path }) => path === value) && (
        <p class="quiet small">The site no longer has this file, so links to it show no picture.</p>
      )}
      <div class="choices">
        {pictures.length > 0 && (
          <Button icon="image" onClick={() => choose(true)}>
            Choose a picture
          </Button>
        )}
        {value !== null && (
          <Button variant="link" onClick={() => onChange(null)}>
            Leave it to the document
          </Button>
        )}
      </div>
      {choosing && (
        <Pictures
          site={site}
          pictures={pictures}
          chosen={value}
          onChoose={end}
          onClose={() => choose(false)}
        />
      )}
    </div>
  )
}

const NO_PICTURES = 'The site has no pictures. Publish one with it, and it can be chosen here.'

interface PicturesProps {
  site: SiteDetails
  pictures: FileEntry[]
  chosen: string | null
  onChoose: (path: string) => void
  onClose: () => void
}

/** Number of images loaded and displayed per page. */
const PICTURES_PER_PAGE = 12

function Pictures({ site, pictures, chosen, onChoose, onClose }: PicturesProps) {
  const [sought, seek] = useState('')
  const [shown, show] = useState(PICTURES_PER_PAGE)
  const found = pictures.filter(({ path }) => path.toLowerCase().includes(sought.trim().toLowerCase()))
  return (
    <Dialog title="Choose a picture" onClose={onClose}>
      {pictures.length > PICTURES_PER_PAGE && (
        <TextField label="Find by name" type="search" value={sought} onWrite={seek} />
      )}
      <p class="quiet small" role="status">
        {pluralize(found.length, 'picture')}
        {site.hasPassword && ', behind the password of the site: they show once one is chosen.'}
      </p>
      <ul class="pictures">
        {found.slice(0, shown).map((file) => (
          <li key={file.path}>
            <button type="button" aria-pressed={file.path === chosen} onClick={() => onChoose(file.path)}>
              <Thumbnail address={pictureUrl(site, file)} />
              <span class="small">{file.path}</span>
            </button>
          </li>
        ))}
      </ul>
      <div class="choices">
        {found.length > shown && <Button onClick={() => show(shown + PICTURES_PER_PAGE)}>Show more</Button>}
        <Button onClick={onClose}>Close</Button>
      </div>
    </Dialog>
  )
}

function Thumbnail({ address }: { address: string | undefined }) {
  const [isBroken, break_] = useState(false)
  if (!address || isBroken) return <Icon name="image" size={32} />
  return <img src={address} alt="" loading="lazy" onError={() => break_(true)} />
}
