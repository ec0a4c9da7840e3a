import type { VisitorTexts } from './visitor-texts.ts'

export const FRENCH: VisitorTexts = {
  siteNotFound: {
    title: 'Site introuvable',
    text: 'Vérifiez que l’adresse ne contient pas de faute de frappe.',
  },
  siteNotPublished: {
    title: 'Site pas encore publié',
    text: 'Sa première version n’est pas complète. Veuillez réessayer plus tard.',
  },
  versionNotFound: {
    title: 'Version introuvable',
    text: 'Cette version du site n’a jamais été terminée, ou elle a été supprimée.',
  },
  pageNotFound: { title: 'Page introuvable', text: 'Vérifiez l’adresse ou commencez par la page d’accueil.' },
  siteExpired: { title: 'Ce site a expiré', text: 'Il a été publié pour une durée limitée.' },
  badRequest: { title: 'Requête incorrecte', text: 'L’adresse ou la requête est mal formée.' },
  misdirected: {
    title: 'Requête mal acheminée',
    text: 'Cette connexion appartient à un autre site. Veuillez recharger la page.',
  },
  methodNotAllowed: {
    title: 'Méthode non autorisée',
    text: 'Cette adresse n’accepte pas ce type de requête.',
  },
  preconditionFailed: { title: 'Échec de la précondition', text: 'Le fichier a changé.' },
  rangeNotSatisfiable: {
    title: 'Plage non disponible',
    text: 'La partie demandée se trouve après la fin du fichier.',
  },
  internalError: {
    title: 'Une erreur s’est produite',
    text: 'Le serveur n’a pas pu traiter la requête. Veuillez réessayer plus tard.',
  },
  unavailable: { title: 'Temporairement indisponible', text: 'Veuillez réessayer dans un instant.' },
  unreadableForm: {
    title: 'Formulaire illisible',
    text: 'Veuillez revenir en arrière et saisir à nouveau le mot de passe.',
  },
  siteSuspended: { title: 'Ce site est suspendu', text: 'L’exploitant de ce service l’a mis hors ligne.' },
  fileBlocked: { title: 'Fichier bloqué', text: 'L’exploitant de ce service a bloqué ce fichier.' },
  homePage: 'Aller à la page d’accueil',
  reportAbuse: 'Signaler un abus',
  terms: 'Conditions d’utilisation',
  imprint: 'Mentions légales',
  contactOperator: 'Contacter l’exploitant',
  anonymousNotice: {
    title: 'Ce site n’est pas vérifié',
    text: 'Il a été publié sans compte sur {service}. Ne saisissez ni mot de passe ni données de paiement si vous ne savez pas qui l’a publié.',
    button: 'Continuer vers le site',
  },
  password: {
    title: 'Ce site est protégé par un mot de passe',
    text: 'Demandez le mot de passe à son propriétaire.',
    label: 'Mot de passe',
    button: 'Ouvrir le site',
    missing: 'Saisissez le mot de passe.',
    wrong: 'Mot de passe incorrect. Veuillez réessayer.',
    tooManyAttempts: 'Trop de mots de passe incorrects. Réessayez dans {minutes} min.',
  },
  report: {
    title: 'Signaler une page',
    text: 'L’exploitant de ce service reçoit votre signalement.',
    url: 'Adresse de la page',
    reason: 'Quel est le problème ?',
    reasons: {
      phishing: 'Elle demande des mots de passe ou des données de paiement par tromperie',
      malware: 'Elle diffuse des logiciels malveillants',
      illegal: 'Son contenu est illégal',
      copyright: 'Elle porte atteinte à mes droits d’auteur',
      other: 'Autre chose',
    },
    details: 'Précisions',
    email: 'Votre adresse e-mail, si l’exploitant peut vous contacter',
    button: 'Envoyer le signalement',
    invalid: 'Veuillez vérifier ces champs :',
    refused: 'Le signalement n’a pas été accepté. Veuillez réessayer plus tard.',
  },
  reportReceived: { title: 'Signalement reçu', text: 'Merci. L’exploitant va l’examiner.' },
  files: { title: 'Fichiers', count: '{count} fichiers, {size}', open: 'Ouvrir', download: 'Télécharger' },
}
