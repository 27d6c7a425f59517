// What is wrong with a pod's annotations, as findings.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "policy/finding.h"
#include "policy/pod.h"
#include "policy/value.h"

namespace memqos::policy {

Finding findingOf(const Pod& pod, Reason reason, std::string key, std::string_view value, BadText text);

// At most 64 findings and one that counts the rest: a pod's author must not be able to flood anybody.
class Complaints {
 public:
  Complaints(const Pod& pod, std::vector<Finding>& findings) : pod_(pod), findings_(findings) {}

  // Whether one more is kept. Asked before an advice is looked for, too: that is work which a flood of keys must not
  // cause. Each yes must be followed by add().
  bool mayAdd();
  // `container` is empty for the whole pod.
  void add(const Annotation& annotation, std::string_view container, BadText text,
           Reason reason = Reason::invalidAnnotation);
  void report(const Annotation& annotation, std::string_view container, BadText text,
              Reason reason = Reason::invalidAnnotation) {
    if (mayAdd()) add(annotation, container, std::move(text), reason);
  }
  // After the last one, and before anybody else appends to the findings.
  void close();

 private:
  const Pod& pod_;
  std::vector<Finding>& findings_;
  std::size_t reported_ = 0;
  std::size_t dropped_ = 0;
};

// The annotation's place.
Source sourceOf(const Pod& pod, const Annotation& annotation);

// A container's key whose container the pod (it has `names`) does not have.
BadText noSuchContainer(const std::set<std::string_view>& names, std::string_view container);

}  // namespace memqos::policy
