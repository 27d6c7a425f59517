#include "testing/tls_identity.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <memory>
#include <random>
#include <stdexcept>

namespace memqos::testing {
namespace {

template <auto Free>
struct Deleter {
  template <typename T>
  void operator()(T* pointer) const {
    Free(pointer);
  }
};
using Key = std::unique_ptr<EVP_PKEY, Deleter<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Deleter<X509_free>>;
using Bio = std::unique_ptr<BIO, Deleter<BIO_free>>;

constexpr long kHour = 3600;

template <typename T>
T* must(T* pointer) {
  if (pointer == nullptr) throw std::runtime_error("OpenSSL cannot make a certificate");
  return pointer;
}

std::string textOf(const Bio& bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

Bio reading(const std::string& text) {
  return Bio(must(BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))));
}

void extend(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = must(X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str()));
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

TlsIdentity make(const std::string& name, const TlsIdentity* ca, const std::string& names) {
  const Key key(must(EVP_EC_gen("P-256")));
  const Certificate certificate(must(X509_new()));
  X509_set_version(certificate.get(), X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), static_cast<long>(std::random_device{}() >> 1));
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -kHour);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), kHour);
  X509_set_pubkey(certificate.get(), key.get());
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate.get()), "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  if (ca == nullptr) {
    X509_set_issuer_name(certificate.get(), X509_get_subject_name(certificate.get()));
    extend(certificate.get(), certificate.get(), NID_basic_constraints, "critical,CA:TRUE");
    X509_sign(certificate.get(), key.get(), EVP_sha256());
  } else {
    const Certificate issuer(must(PEM_read_bio_X509(reading(ca->certificate).get(), nullptr, nullptr, nullptr)));
    const Key issuerKey(must(PEM_read_bio_PrivateKey(reading(ca->key).get(), nullptr, nullptr, nullptr)));
    X509_set_issuer_name(certificate.get(), X509_get_subject_name(issuer.get()));
    if (!names.empty()) extend(certificate.get(), issuer.get(), NID_subject_alt_name, names);
    X509_sign(certificate.get(), issuerKey.get(), EVP_sha256());
  }
  const Bio text(must(BIO_new(BIO_s_mem())));
  PEM_write_bio_X509(text.get(), certificate.get());
  const Bio keyText(must(BIO_new(BIO_s_mem())));
  PEM_write_bio_PrivateKey(keyText.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  return {textOf(text), textOf(keyText)};
}

}  // namespace

TlsIdentity makeCa(const std::string& name) {
  return make(name, nullptr, "");
}

TlsIdentity issue(const TlsIdentity& ca, const std::string& name, const std::string& names) {
  return make(name, &ca, names);
}

}  // namespace memqos::testing
