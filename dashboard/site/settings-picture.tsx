import { useState } from 'preact/hooks'
import type { FileEntry, SiteDetails } from '../../client/wire.ts'
import { count } from '../../client/words.ts'
import { Button } from '../kit/button.tsx'
import { Dialog } from '../kit/dialog.tsx'
import { TextField } from '../kit/field.tsx'
import { Icon } from '../kit/icon.tsx'
import { pictureAddress, picturesOf } from './picture-address.ts'

interface PictureProps {
  site: SiteDetails
  /** Path of the chosen one. */
  value: string | null
  onChange: (path: string | null) => void
}

/** Chooses one of the site's own pictures for its card. */
export function PictureChoice({ site, value, onChange }: PictureProps) {
  const [choosing, choose] = useState(false)
  const pictures = picturesOf(site)
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
          <Button look="link" onClick={() => onChange(null)}>
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

/** Pictures that are shown, and loaded, at once. */
const AT_ONCE = 12

function Pictures({ site, pictures, chosen, onChoose, onClose }: PicturesProps) {
  const [sought, seek] = useState('')
  const [shown, show] = useState(AT_ONCE)
  const found = pictures.filter(({ path }) => path.toLowerCase().includes(sought.trim().toLowerCase()))
  return (
    <Dialog title="Choose a picture" onClose={onClose}>
      {pictures.length > AT_ONCE && (
        <TextField label="Find by name" type="search" value={sought} onWrite={seek} />
      )}
      <p class="quiet small" role="status">
        {count(found.length, 'picture')}
        {site.hasPassword && ', behind the password of the site: they show once one is chosen.'}
      </p>
      <ul class="pictures">
        {found.slice(0, shown).map((file) => (
          <li key={file.path}>
            <button type="button" aria-pressed={file.path === chosen} onClick={() => onChoose(file.path)}>
              <Thumbnail address={pictureAddress(site, file)} />
              <span class="small">{file.path}</span>
            </button>
          </li>
        ))}
      </ul>
      <div class="choices">
        {found.length > shown && <Button onClick={() => show(shown + AT_ONCE)}>Show more</Button>}
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
